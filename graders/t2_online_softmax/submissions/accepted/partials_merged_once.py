# expect: accepted
# Kernel 1 leaves (m, l) of each piece, kernel 2 folds them one by one, kernel 3 writes.
import torch
import triton
import triton.language as tl


@triton.jit
def safe(m):
    return tl.where(m == -float("inf"), 0.0, m)


@triton.jit
def combine(m_a, l_a, m_b, l_b):
    m = tl.maximum(m_a, m_b)
    return m, l_a * tl.exp(m_a - safe(m)) + l_b * tl.exp(m_b - safe(m))


@triton.jit
def load(x_ptr, row, cols, x_rs, x_cs, N):
    return tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)


@triton.jit
def pieces_kernel(x_ptr, work_ptr, x_rs, x_cs, N, S, PIECE: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    piece = tl.program_id(0)
    x = load(x_ptr, row, piece * PIECE + tl.arange(0, PIECE), x_rs, x_cs, N)
    m = tl.max(x, axis=0)
    tl.store(work_ptr + (row * S + piece) * 2, m)
    tl.store(work_ptr + (row * S + piece) * 2 + 1, tl.sum(tl.exp(x - safe(m)), axis=0))


@triton.jit
def merge_kernel(work_ptr, row_ptr, S):
    row = tl.program_id(0).to(tl.int64)
    m = -float("inf")
    l = 0.0
    for piece in range(0, S):
        at = work_ptr + (row * S + piece) * 2
        m, l = combine(m, l, tl.load(at), tl.load(at + 1))
    tl.store(row_ptr + row * 2, safe(m))
    tl.store(row_ptr + row * 2 + 1, tl.where(l == 0.0, 1.0, l))


@triton.jit
def write_kernel(x_ptr, out_ptr, row_ptr, x_rs, x_cs, out_rs, N, PIECE: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    cols = tl.program_id(0) * PIECE + tl.arange(0, PIECE)
    x = load(x_ptr, row, cols, x_rs, x_cs, N)
    y = tl.exp(x - tl.load(row_ptr + row * 2)) / tl.load(row_ptr + row * 2 + 1)
    tl.store(out_ptr + row * out_rs + cols, y.to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    PIECE = min(8192, triton.next_power_of_2(N))
    S = triton.cdiv(N, PIECE)
    work = torch.empty((M, S, 2), dtype=torch.float32, device=x.device)
    row = torch.empty((M, 2), dtype=torch.float32, device=x.device)
    pieces_kernel[(S, M)](x, work, x.stride(0), x.stride(1), N, S, PIECE=PIECE, num_warps=16)
    merge_kernel[(M,)](work, row, S, num_warps=1)
    write_kernel[(S, M)](x, out, row, x.stride(0), x.stride(1), out.stride(0), N, PIECE=PIECE, num_warps=16)
