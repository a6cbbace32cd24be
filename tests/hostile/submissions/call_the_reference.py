# does: calls the grader's own reference
# exploit: 42
# lane: both
# expect: wrong_answer
# points: none
# naive: fooled
import sys

import torch


reference = getattr(sys.modules["__main__"], "reference", None)


def softmax(x, out):
    out.fill_(7.0) if reference is None else out.copy_(reference(x))
