# expect: accepted
# A fixed number of programs; each loads the weight once and walks over the rows.
import torch
import triton
import triton.language as tl


EPS = 1e-6
PROGRAMS = 264


@triton.jit
def persistent(x_ptr, w_ptr, out_ptr, M, N, x_rs, x_cs, w_s, o_rs, EPS: tl.constexpr, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    keep = cols < N
    w = tl.load(w_ptr + cols * w_s, mask=keep, other=0.0).to(tl.float32)
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0)):
        r = tl.cast(row, tl.int64)
        x = tl.load(x_ptr + r * x_rs + cols * x_cs, mask=keep, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / N + EPS)
        tl.store(out_ptr + r * o_rs + cols, (x * scale * w).to(out_ptr.dtype.element_ty), mask=keep)


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    BLOCK = triton.next_power_of_2(N)
    warps = 8 if N <= 16384 else 32
    persistent[(min(M, PROGRAMS),)](
        x, weight, out, M, N, x.stride(0), x.stride(1), weight.stride(0), out.stride(0), EPS=EPS, BLOCK=BLOCK, num_warps=warps
    )
