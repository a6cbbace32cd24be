# does: reads an illegal address, after which every call of its context fails
# exploit: 63
# lane: gpu
# one lane because: the interpreter has no context
# expect: runtime_error
# points: none
# naive: not expressible because it has no GPU
import torch
import triton
import triton.language as tl


@triton.jit
def wild_kernel(out_ptr):
    tl.store(out_ptr + (1 << 40), 1.0)


def softmax(x, out):
    wild_kernel[(1,)](out)
