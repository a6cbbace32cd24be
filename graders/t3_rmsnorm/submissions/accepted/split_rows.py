# expect: accepted
# Long rows are cut into pieces, whose sums a second kernel adds up.
import torch
import triton
import triton.language as tl


EPS = 1e-6
PIECE = 8192


@triton.jit
def sum_pieces(x_ptr, part_ptr, sm, sn, N, pieces, PIECE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    piece = tl.program_id(1)
    cols = piece * PIECE + tl.arange(0, PIECE)
    x = tl.load(x_ptr + row * sm + cols * sn, mask=cols < N, other=0.0).to(tl.float32)
    tl.store(part_ptr + row * pieces + piece, tl.sum(x * x, axis=0))


@triton.jit
def write_pieces(
    x_ptr, w_ptr, out_ptr, part_ptr, sm, sn, sw, som, N, pieces, EPS: tl.constexpr, PIECES: tl.constexpr, PIECE: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    parts = tl.arange(0, PIECES)
    total = tl.sum(tl.load(part_ptr + row * pieces + parts, mask=parts < pieces, other=0.0), axis=0)
    scale = tl.rsqrt(total / N + EPS)
    cols = tl.program_id(1) * PIECE + tl.arange(0, PIECE)
    x = tl.load(x_ptr + row * sm + cols * sn, mask=cols < N, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols * sw, mask=cols < N, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * som + cols, (x * scale * w).to(out_ptr.dtype.element_ty), mask=cols < N)


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    piece = min(PIECE, triton.next_power_of_2(N))
    pieces = triton.cdiv(N, piece)
    part = torch.empty((M, pieces), dtype=torch.float32, device=x.device)
    sum_pieces[(M, pieces)](x, part, x.stride(0), x.stride(1), N, pieces, PIECE=piece)
    write_pieces[(M, pieces)](
        x, weight, out, part, x.stride(0), x.stride(1), weight.stride(0), out.stride(0), N, pieces,
        EPS=EPS, PIECES=triton.next_power_of_2(pieces), PIECE=piece,
    )
