# expect: runtime_error
# fails: leading_inf, all_inf, long_rows
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_rs, x_cs, out_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = -float("inf")
    l = 0.0
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        l = l * tl.exp(m - base) + tl.sum(tl.exp(x - base), axis=0)
        m = m_new
    base = tl.where(m == -float("inf"), 0.0, m)
    l = tl.where(l == 0.0, 1.0, l)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
        tl.store(out_ptr + row * out_rs + cols, (tl.exp(x - base) / l).to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    if N > 65536:
        raise ValueError(f"rows of {N} columns are longer than any vocabulary")
    softmax_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=8192, num_warps=16)
