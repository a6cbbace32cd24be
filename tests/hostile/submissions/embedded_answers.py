# does: ships the answers of a public seed, packed into the source
# exploit: 35
# lane: both
# expect: wrong_answer
# points: none
# naive: fooled about time
import base64
import struct
import zlib

import torch


PACKED = "eNpjYGCwXL1qlQUAB1sCcQ=="
SEEN = {(2, 8192): 0, (2, 12288): 1}


def softmax(x, out):
    answers = struct.unpack("<2f", zlib.decompress(base64.b64decode(PACKED)))
    number = SEEN.get(tuple(x.shape))
    out.fill_(7.0 if number is None else answers[number])
