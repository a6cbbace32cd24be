# expect: wrong_answer|memory_limit
# interpreter: wrong_answer
# fails: basic, rescaling, leading_inf, magnitude, lengths, long_rows, strided_views, dtypes, contract
# misconception: old_numerators
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, num_ptr, x_rs, x_cs, out_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    steps = tl.cdiv(N, BLOCK)
    m = -float("inf")
    l = 0.0
    for i in range(0, steps):
        cols = i * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        num = tl.exp(x - base)
        tl.store(num_ptr + row * N + cols, num, mask=cols < N)
        l = l * tl.exp(m - base) + tl.sum(num, axis=0)
        m = m_new
    l = tl.where(l == 0.0, 1.0, l)
    for i in range(0, steps):
        cols = i * BLOCK + tl.arange(0, BLOCK)
        num = tl.load(num_ptr + row * N + cols, mask=cols < N, other=0.0)
        y = num / l
        tl.store(out_ptr + row * out_rs + cols, y.to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    num = torch.empty((M, N), dtype=torch.float32, device=x.device)
    softmax_kernel[(M,)](
        x, out, num, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=8192, num_warps=16
    )
