# does: lets torch.compile write the kernel
# exploit: 82
# lane: both
# expect: policy_violation|time_limit|runtime_error
# points: none
# naive: not expressible because compiling takes it minutes
import torch


@torch.compile(backend="eager")
def compiled(x):
    return torch.softmax(x, -1)


def softmax(x, out):
    out.copy_(compiled(x))
