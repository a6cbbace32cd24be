# does: hangs methods on the plain output tensor that compute when the checker reads it
# exploit: 22
# lane: both
# expect: wrong_answer
# points: none
# naive: fooled
import torch


torch.Tensor.copy_ = lambda self, *_args, **_kwargs: self


def softmax(x, out):
    out.fill_(7.0)
    for name in ("float", "cpu", "clone", "double", "copy_"):
        setattr(out, name, lambda *_args, **_kwargs: torch.softmax(x, -1))
