# expect: wrong_answer
# fails: basic, rescaling, leading_inf, all_inf, special_values, magnitude, lengths, long_rows, strided_views, huge, dtypes, contract
# tl.debug_barrier holds the threads of one program together, not the programs.
import torch
import triton
import triton.language as tl


PIECE = tl.constexpr(8192)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, m_ptr, l_ptr, x_rs, x_cs, out_rs, N, PIECES: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    piece = tl.program_id(1)
    pieces = tl.num_programs(1)
    cols = piece * PIECE + tl.arange(0, PIECE)
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    base = tl.where(m == -float("inf"), 0.0, m)
    tl.store(m_ptr + row * pieces + piece, m)
    tl.store(l_ptr + row * pieces + piece, tl.sum(tl.exp(x - base), axis=0))
    tl.debug_barrier()  # now every piece is there
    each = tl.arange(0, PIECES)
    ms = tl.load(m_ptr + row * pieces + each, mask=each < pieces, other=-float("inf"))
    ls = tl.load(l_ptr + row * pieces + each, mask=each < pieces, other=0.0)
    m = tl.max(ms, axis=0)
    base = tl.where(m == -float("inf"), 0.0, m)
    l = tl.sum(ls * tl.exp(ms - base), axis=0)
    l = tl.where(l == 0.0, 1.0, l)
    tl.store(out_ptr + row * out_rs + cols, (tl.exp(x - base) / l).to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    grid = (M, triton.cdiv(N, 8192))
    m = torch.full(grid, -float("inf"), dtype=torch.float32, device=x.device)
    l = torch.zeros(grid, dtype=torch.float32, device=x.device)
    softmax_kernel[grid](
        x, out, m, l, x.stride(0), x.stride(1), out.stride(0), N, PIECES=triton.next_power_of_2(grid[1]), num_warps=16
    )
