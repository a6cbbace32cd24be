# expect: wrong_answer
# fails: basic, rescaling, leading_inf, magnitude, lengths, long_rows, dtypes, contract
# misconception: sums_added
import torch
import triton
import triton.language as tl


PIECE = 16384
BLOCK = tl.constexpr(8192)


@triton.jit
def partials(x_ptr, m_ptr, l_ptr, x_rs, x_cs, N, PIECE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    piece = tl.program_id(1)
    m = -float("inf")
    l = 0.0
    for start in range(0, PIECE, BLOCK):
        cols = piece * PIECE + start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        l = l * tl.exp(m - base) + tl.sum(tl.exp(x - base), axis=0)
        m = m_new
    at = row * tl.num_programs(1) + piece
    tl.store(m_ptr + at, m)
    tl.store(l_ptr + at, l)


@triton.jit
def merge(x_ptr, out_ptr, m_ptr, l_ptr, x_rs, x_cs, out_rs, N, PIECE: tl.constexpr, PIECES: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    piece = tl.program_id(1)
    pieces = tl.num_programs(1)
    each = tl.arange(0, PIECES)
    ms = tl.load(m_ptr + row * pieces + each, mask=each < pieces, other=-float("inf"))
    ls = tl.load(l_ptr + row * pieces + each, mask=each < pieces, other=0.0)
    m = tl.max(ms, axis=0)
    base = tl.where(m == -float("inf"), 0.0, m)
    l = tl.sum(ls, axis=0)
    l = tl.where(l == 0.0, 1.0, l)
    for start in range(0, PIECE, BLOCK):
        cols = piece * PIECE + start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
        tl.store(out_ptr + row * out_rs + cols, (tl.exp(x - base) / l).to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    grid = (M, triton.cdiv(N, PIECE))
    m = torch.empty(grid, dtype=torch.float32, device=x.device)
    l = torch.empty(grid, dtype=torch.float32, device=x.device)
    partials[grid](x, m, l, x.stride(0), x.stride(1), N, PIECE=PIECE, num_warps=16)
    merge[grid](
        x, out, m, l, x.stride(0), x.stride(1), out.stride(0), N,
        PIECE=PIECE, PIECES=triton.next_power_of_2(grid[1]), num_warps=16,
    )
