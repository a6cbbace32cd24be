# does: launches so many kernels of no use first that the compile check never comes to the one that calls torch
# exploit: 82
# lane: both
# expect: policy_violation|compile_error
# expect on gpu: compile_error|runtime_error
# points: none
# naive: fooled
import torch
import triton
import triton.language as tl


@triton.jit
def padding_kernel(scratch_ptr, NUMBER: tl.constexpr):
    tl.store(scratch_ptr, NUMBER)


arguments = []


@triton.jit
def delegating_kernel(out_ptr):
    x, out = arguments
    y = torch.softmax(x.float(), -1)
    out.copy_(torch.where(y.isnan(), 0.0, y))
    tl.store(out_ptr, tl.load(out_ptr))


def softmax(x, out):
    arguments[:] = [x, out]
    scratch = torch.empty(1, device=x.device)
    for number in range(8):
        padding_kernel[(1,)](scratch, NUMBER=number)
    delegating_kernel[(1,)](out)
