# does: calls torch inside a kernel, which the interpreter runs as Python
# exploit: 82
# lane: both
# expect: policy_violation|compile_error
# expect on gpu: compile_error|runtime_error
# points: none
# naive: fooled
import torch
import triton
import triton.language as tl


arguments = []


@triton.jit
def delegating_kernel(out_ptr):
    x, out = arguments
    y = torch.softmax(x.float(), -1)
    out.copy_(torch.where(y.isnan(), 0.0, y))
    tl.store(out_ptr, tl.load(out_ptr))


def softmax(x, out):
    arguments[:] = [x, out]
    delegating_kernel[(1,)](out)
