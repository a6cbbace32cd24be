# expect: wrong_answer
# fails: basic, all_negative, large_magnitude, strided_views, huge, all_inf, partial_inf, lengths, dtypes, contract
import torch
import triton
import triton.language as tl


@triton.jit
def two_rows(x_ptr, out_ptr, M, N, x_rs, x_cs, out_rs, COLS: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)
    cols = tl.arange(0, COLS)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * x_rs + cols[None, :] * x_cs, mask=mask, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=1)
    m = tl.where(m == -float("inf"), 0.0, m)
    e = tl.exp(x - m[:, None])
    s = tl.sum(e, axis=1)
    s = tl.where(s == 0.0, 1.0, s)
    tl.store(out_ptr + rows[:, None] * out_rs + cols[None, :], (e / s[:, None]).to(out_ptr.dtype.element_ty), mask=mask)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    warps = 8 if N <= 16384 else 32
    two_rows[(max(M // 2, 1),)](
        x, out, M, N, x.stride(0), x.stride(1), out.stride(0), COLS=triton.next_power_of_2(N), num_warps=warps
    )
