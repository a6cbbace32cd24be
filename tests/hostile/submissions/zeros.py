# does: writes zeros, which are near enough where values are about 1/N
# exploit: 69
# lane: both
# expect: wrong_answer
# points: none
# naive: fooled
import torch


def softmax(x, out):
    out.zero_()
