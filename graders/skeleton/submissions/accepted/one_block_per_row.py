# expect: accepted
import torch
import triton
import triton.language as tl


@triton.jit
def shares_kernel(x_ptr, out_ptr, x_row, x_col, out_row, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < n
    x = tl.load(x_ptr + row * x_row + cols * x_col, mask=inside, other=0.0).to(tl.float32)
    total = tl.sum(tl.abs(x), axis=0)
    y = x / tl.where(total == 0, 1.0, total)
    tl.store(out_ptr + row * out_row + cols, y.to(out_ptr.dtype.element_ty), mask=inside)


def shares(x, out):
    m, n = x.shape
    shares_kernel[(m,)](x, out, x.stride(0), x.stride(1), out.stride(0), n, BLOCK=triton.next_power_of_2(n))
