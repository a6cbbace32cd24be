# expect: accepted
import torch
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def softmax_exp2(x_ptr, out_ptr, x_stride, x_step, out_stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_stride + cols * x_step, mask=mask, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    m = tl.where(m == -float("inf"), 0.0, m)
    p = tl.exp2((x - m) * LOG2E)  # subtract first: scaling first loses digits around 30000
    s = tl.sum(p, axis=0)
    s = tl.where(s == 0.0, 1.0, s)
    tl.store(out_ptr + row * out_stride + cols, (p / s).to(out_ptr.dtype.element_ty), mask=mask)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    BLOCK = triton.next_power_of_2(N)
    warps = 8 if N <= 16384 else 32
    softmax_exp2[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=BLOCK, num_warps=warps)
