# expect: accepted
import torch
import triton
import triton.language as tl


@triton.jit
def tile_kernel(x_ptr, out_ptr, M, N, sxm, sxn, som, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, COLS)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * sxm + cols[None, :] * sxn, mask=mask, other=float("-inf"))
    x = x.to(tl.float32)
    peak = tl.max(x, axis=1)
    peak = tl.where(peak == float("-inf"), 0.0, peak)
    e = tl.exp(x - peak[:, None])
    s = tl.sum(e, axis=1)
    s = tl.where(s == 0, 1.0, s)
    y = e / s[:, None]
    tl.store(out_ptr + rows[:, None] * som + cols[None, :], y.to(out_ptr.dtype.element_ty), mask=mask)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    cols = triton.next_power_of_2(N)
    rows = max(1, min(8, 4096 // cols))  # short rows share a program
    tile_kernel[(triton.cdiv(M, rows),)](
        x, out, M, N, x.stride(0), x.stride(1), out.stride(0), ROWS=rows, COLS=cols, num_warps=4 if cols <= 4096 else 16
    )
