# expect: accepted
# Kernel 1 leaves (max, sum) of each row in scratch memory, kernel 2 normalises with a 2-D grid.
import torch
import triton
import triton.language as tl


@triton.jit
def row_stats(x_ptr, max_ptr, sum_ptr, sm, sn, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = float("-inf")
    l = 0.0
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * sm + cols * sn, mask=cols < N, other=float("-inf")).to(tl.float32)
        new = tl.maximum(m, tl.max(x, axis=0))
        base = tl.where(new == float("-inf"), 0.0, new)
        l = l * tl.exp(m - base) + tl.sum(tl.exp(x - base), axis=0)
        m = new
    tl.store(max_ptr + row, tl.where(m == float("-inf"), 0.0, m))
    tl.store(sum_ptr + row, tl.where(l == 0.0, 1.0, l))


@triton.jit
def normalise(x_ptr, out_ptr, max_ptr, sum_ptr, sm, sn, som, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < N
    m = tl.load(max_ptr + row)
    l = tl.load(sum_ptr + row)
    x = tl.load(x_ptr + row * sm + cols * sn, mask=mask, other=float("-inf")).to(tl.float32)
    tl.store(out_ptr + row * som + cols, (tl.exp(x - m) / l).to(out_ptr.dtype.element_ty), mask=mask)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    peak = torch.empty(M, dtype=torch.float32, device=x.device)
    total = torch.empty_like(peak)
    BLOCK = 8192
    row_stats[(M,)](x, peak, total, x.stride(0), x.stride(1), N, BLOCK=BLOCK)
    normalise[(M, triton.cdiv(N, BLOCK))](x, out, peak, total, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=BLOCK)
