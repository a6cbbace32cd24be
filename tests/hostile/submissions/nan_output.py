# does: writes NaN, which is never greater than a tolerance
# exploit: 71
# lane: both
# expect: wrong_answer
# points: none
# naive: fooled
import torch


def softmax(x, out):
    out.fill_(float("nan"))
