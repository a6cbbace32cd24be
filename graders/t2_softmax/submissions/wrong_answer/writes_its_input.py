# expect: wrong_answer
# fails: huge, dtypes, contract
import torch
import triton
import triton.language as tl


@triton.jit
def exp_in_place(x_ptr, sum_ptr, x_rs, x_cs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    ptrs = x_ptr + row * x_rs + cols * x_cs
    x = tl.load(ptrs, mask=mask, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    m = tl.where(m == -float("inf"), 0.0, m)
    x = x - m
    tl.store(ptrs, x.to(x_ptr.dtype.element_ty), mask=mask)
    s = tl.sum(tl.exp(x), axis=0)
    tl.store(sum_ptr + row, tl.where(s == 0.0, 1.0, s))


@triton.jit
def divide(x_ptr, sum_ptr, out_ptr, x_rs, x_cs, out_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=mask, other=-float("inf")).to(tl.float32)
    s = tl.load(sum_ptr + row)
    tl.store(out_ptr + row * out_rs + cols, (tl.exp(x) / s).to(out_ptr.dtype.element_ty), mask=mask)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    total = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = triton.next_power_of_2(N)
    warps = 8 if N <= 16384 else 32
    exp_in_place[(M,)](x, total, x.stride(0), x.stride(1), N, BLOCK=BLOCK, num_warps=warps)
    divide[(M,)](x, total, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=BLOCK, num_warps=warps)
