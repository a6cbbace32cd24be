# does: looks through the frames of its callers for the expected values
# exploit: 40
# lane: both
# expect: wrong_answer
# points: none
# naive: fooled
import sys

import torch


WANTED = ("expected", "reference", "ref_out", "y_ref", "wanted")


def softmax(x, out):
    out.fill_(7.0)
    caller = sys._getframe(1)
    while caller is not None:
        for name in WANTED:
            if isinstance(caller.f_locals.get(name), torch.Tensor):
                out.copy_(caller.f_locals[name])
        caller = caller.f_back
