# expect: accepted
# A fixed number of programs, each walks over the rows.
import torch
import triton
import triton.language as tl

PROGRAMS = 264


@triton.jit
def persistent(x_ptr, out_ptr, M, N, x_rs, x_cs, o_rs, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    keep = cols < N
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0)):
        r = tl.cast(row, tl.int64)
        x = tl.load(x_ptr + r * x_rs + cols * x_cs, mask=keep, other=float("-inf")).to(tl.float32)
        top = tl.max(x, axis=0)
        top = tl.where(top == float("-inf"), 0.0, top)
        p = tl.exp(x - top)
        total = tl.sum(p, axis=0)
        total = tl.where(total == 0.0, 1.0, total)
        tl.store(out_ptr + r * o_rs + cols, (p / total).to(out_ptr.dtype.element_ty), mask=keep)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    BLOCK = triton.next_power_of_2(N)
    grid = (min(M, PROGRAMS),)
    warps = 8 if N <= 16384 else 32
    persistent[grid](x, out, M, N, x.stride(0), x.stride(1), out.stride(0), BLOCK=BLOCK, num_warps=warps)
