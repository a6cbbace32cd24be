# expect: wrong_answer
# fails: large_magnitude, partial_inf
import torch
import triton
import triton.language as tl


@triton.jit
def tile_kernel(x_ptr, out_ptr, M, N, x_rs, x_cs, out_rs, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, COLS)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * x_rs + cols[None, :] * x_cs, mask=mask, other=-float("inf")).to(tl.float32)
    m = tl.max(x)
    m = tl.where(m == -float("inf"), 0.0, m)
    e = tl.exp(x - m)
    s = tl.sum(e, axis=1)
    s = tl.where(s == 0.0, 1.0, s)
    tl.store(out_ptr + rows[:, None] * out_rs + cols[None, :], (e / s[:, None]).to(out_ptr.dtype.element_ty), mask=mask)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    COLS = triton.next_power_of_2(N)
    warps = 8 if N <= 16384 else 32
    tile_kernel[(triton.cdiv(M, 4),)](
        x, out, M, N, x.stride(0), x.stride(1), out.stride(0), ROWS=4, COLS=COLS, num_warps=warps
    )
