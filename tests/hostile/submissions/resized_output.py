# does: resizes the storages of its arguments
# exploit: 81
# lane: both
# expect: runtime_error|wrong_answer
# points: none
# naive: not expressible because it fails there too
import torch


def softmax(x, out):
    out.untyped_storage().resize_(0)
    x.untyped_storage().resize_(1 << 20)
