# expect: accepted
import torch
import triton
import triton.language as tl


EPS = 1e-6


@triton.jit
def tile_kernel(x_ptr, w_ptr, out_ptr, M, N, sxm, sxn, sw, som, EPS: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, COLS)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * sxm + cols[None, :] * sxn, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols * sw, mask=cols < N, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=1) / N + EPS)
    y = x * scale[:, None] * w[None, :]
    tl.store(out_ptr + rows[:, None] * som + cols[None, :], y.to(out_ptr.dtype.element_ty), mask=mask)


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    cols = triton.next_power_of_2(N)
    rows = max(1, min(8, 4096 // cols))  # short rows share a program
    tile_kernel[(triton.cdiv(M, rows),)](
        x, weight, out, M, N, x.stride(0), x.stride(1), weight.stride(0), out.stride(0),
        EPS=EPS, ROWS=rows, COLS=cols, num_warps=4 if cols <= 4096 else 16,
    )
