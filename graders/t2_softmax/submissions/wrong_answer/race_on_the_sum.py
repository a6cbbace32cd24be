# expect: wrong_answer
# interpreter: not visible
import torch
import triton
import triton.language as tl


PIECE = tl.constexpr(4096)


@triton.jit
def row_max(x_ptr, peak_ptr, x_rs, x_cs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    tl.store(peak_ptr + row, tl.where(m == -float("inf"), 0.0, m))


@triton.jit
def add_piece(x_ptr, peak_ptr, total_ptr, x_rs, x_cs, N):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * PIECE + tl.arange(0, PIECE)
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
    s = tl.sum(tl.exp(x - tl.load(peak_ptr + row)), axis=0)
    tl.store(total_ptr + row, tl.load(total_ptr + row) + s)


@triton.jit
def write(x_ptr, out_ptr, peak_ptr, total_ptr, x_rs, x_cs, out_rs, N):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * PIECE + tl.arange(0, PIECE)
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
    s = tl.load(total_ptr + row)
    y = tl.exp(x - tl.load(peak_ptr + row)) / tl.where(s == 0.0, 1.0, s)
    tl.store(out_ptr + row * out_rs + cols, y.to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    peak = torch.empty(M, dtype=torch.float32, device=x.device)
    total = torch.zeros(M, dtype=torch.float32, device=x.device)
    grid = (M, triton.cdiv(N, 4096))
    warps = 8 if N <= 16384 else 32
    row_max[(M,)](x, peak, x.stride(0), x.stride(1), N, BLOCK=triton.next_power_of_2(N), num_warps=warps)
    add_piece[grid](x, peak, total, x.stride(0), x.stride(1), N)
    write[grid](x, out, peak, total, x.stride(0), x.stride(1), out.stride(0), N)
