# expect: accepted
import torch
import triton
import triton.language as tl


@triton.jit
def shares_kernel(x_ptr, out_ptr, x_row, x_col, out_row, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        sums += tl.abs(tl.load(x_ptr + row * x_row + cols * x_col, mask=cols < n, other=0.0).to(tl.float32))
    total = tl.sum(sums, axis=0)
    scale = 1.0 / tl.where(total == 0, 1.0, total)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_row + cols * x_col, mask=cols < n, other=0.0).to(tl.float32)
        tl.store(out_ptr + row * out_row + cols, (x * scale).to(out_ptr.dtype.element_ty), mask=cols < n)


def shares(x, out):
    m, n = x.shape
    shares_kernel[(m,)](x, out, x.stride(0), x.stride(1), out.stride(0), n, BLOCK=256)
