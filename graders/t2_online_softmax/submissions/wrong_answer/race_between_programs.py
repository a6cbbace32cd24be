# expect: wrong_answer
# interpreter: not visible
import torch
import triton
import triton.language as tl


PIECE = tl.constexpr(8192)


@triton.jit
def accumulate(x_ptr, m_ptr, l_ptr, x_rs, x_cs, N):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * PIECE + tl.arange(0, PIECE)
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
    m = tl.load(m_ptr + row)
    l = tl.load(l_ptr + row)
    m_new = tl.maximum(m, tl.max(x, axis=0))
    base = tl.where(m_new == -float("inf"), 0.0, m_new)
    tl.store(m_ptr + row, m_new)
    tl.store(l_ptr + row, l * tl.exp(m - base) + tl.sum(tl.exp(x - base), axis=0))


@triton.jit
def write(x_ptr, out_ptr, m_ptr, l_ptr, x_rs, x_cs, out_rs, N):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * PIECE + tl.arange(0, PIECE)
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
    m = tl.load(m_ptr + row)
    base = tl.where(m == -float("inf"), 0.0, m)
    l = tl.load(l_ptr + row)
    y = tl.exp(x - base) / tl.where(l == 0.0, 1.0, l)
    tl.store(out_ptr + row * out_rs + cols, y.to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    m = torch.full((M,), -float("inf"), dtype=torch.float32, device=x.device)
    l = torch.zeros(M, dtype=torch.float32, device=x.device)
    grid = (M, triton.cdiv(N, 8192))
    accumulate[grid](x, m, l, x.stride(0), x.stride(1), N, num_warps=16)
    write[grid](x, out, m, l, x.stride(0), x.stride(1), out.stride(0), N, num_warps=16)
