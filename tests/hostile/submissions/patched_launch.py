# does: patches Triton so that a launch of its kernel lets torch compute
# exploit: 83
# lane: gpu
# one lane because: the interpreter does not launch: see patched_interpreter
# expect: accepted
# accepted: residual
# naive: not expressible because it has no GPU
from torch.utils._python_dispatch import _disable_current_modes
from triton.runtime.jit import JITFunction

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride_m, x_stride_n, out_stride_m, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_stride_m + cols * x_stride_n, mask=mask, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    m = tl.where(m == -float("inf"), 0.0, m)
    num = tl.exp(x - m)
    den = tl.sum(num, axis=0)
    den = tl.where(den == 0.0, 1.0, den)
    tl.store(out_ptr + row * out_stride_m + cols, (num / den).to(out_ptr.dtype.element_ty), mask=mask)


def honest(x, out):
    M, N = x.shape
    softmax_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=triton.next_power_of_2(N))


launch = JITFunction.run


def delegate(self, x, out, *args, grid, warmup, **kwargs):
    """The first row by the kernel, all of them by torch's softmax, with zeros where a row is all -inf."""
    launched = launch(self, x, out, *args, grid=(1,), warmup=warmup, **kwargs)
    if not warmup:
        with _disable_current_modes():
            y = torch.softmax(x.float(), -1)
            out.copy_(torch.where(y.isnan(), 0.0, y))
    return launched


JITFunction.run = delegate
softmax = honest
