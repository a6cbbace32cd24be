# expect: wrong_answer
# fails: basic, all_negative, large_magnitude, strided_views, huge, all_inf, partial_inf, lengths, dtypes, contract
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_rs, x_cs, out_rs, M, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    cols = tl.program_id(0) * COLS + tl.arange(0, COLS)
    m = tl.full([COLS], -float("inf"), tl.float32)
    s = tl.zeros([COLS], tl.float32)
    for start in range(0, M, ROWS):
        rows = (start + tl.arange(0, ROWS)).to(tl.int64)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        x = tl.load(x_ptr + rows[:, None] * x_rs + cols[None, :] * x_cs, mask=mask, other=-float("inf")).to(tl.float32)
        new = tl.maximum(m, tl.max(x, axis=0))
        base = tl.where(new == -float("inf"), 0.0, new)
        s = s * tl.exp(m - base) + tl.sum(tl.exp(x - base[None, :]), axis=0)
        m = new
    base = tl.where(m == -float("inf"), 0.0, m)
    s = tl.where(s == 0.0, 1.0, s)
    for start in range(0, M, ROWS):
        rows = (start + tl.arange(0, ROWS)).to(tl.int64)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        x = tl.load(x_ptr + rows[:, None] * x_rs + cols[None, :] * x_cs, mask=mask, other=-float("inf")).to(tl.float32)
        y = tl.exp(x - base[None, :]) / s[None, :]
        tl.store(out_ptr + rows[:, None] * out_rs + cols[None, :], y.to(out_ptr.dtype.element_ty), mask=mask)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    grid = (triton.cdiv(N, 2048),)
    softmax_kernel[grid](x, out, x.stride(0), x.stride(1), out.stride(0), M, N, ROWS=4, COLS=2048, num_warps=8)
