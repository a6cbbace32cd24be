# expect: wrong_answer
# fails: all_negative, large_magnitude
import torch
import triton
import triton.language as tl


LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def scale_kernel(x_ptr, buf_ptr, x_rs, x_cs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
    tl.store(buf_ptr + row * N + cols, x * LOG2E, mask=cols < N)


@triton.jit
def softmax_kernel(buf_ptr, out_ptr, out_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(buf_ptr + row * N + cols, mask=mask, other=-float("inf"))
    m = tl.max(x, axis=0)
    m = tl.where(m == -float("inf"), 0.0, m)
    e = tl.exp2(x - m)
    s = tl.sum(e, axis=0)
    s = tl.where(s == 0.0, 1.0, s)
    tl.store(out_ptr + row * out_rs + cols, (e / s).to(out_ptr.dtype.element_ty), mask=mask)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    buf = torch.empty((M, N), dtype=torch.float32, device=x.device)
    BLOCK = triton.next_power_of_2(N)
    warps = 8 if N <= 16384 else 32
    scale_kernel[(M,)](x, buf, x.stride(0), x.stride(1), N, BLOCK=BLOCK, num_warps=warps)
    softmax_kernel[(M,)](buf, out, out.stride(0), N, BLOCK=BLOCK, num_warps=warps)
