# does: leaves out the maximum, which normal inputs do not need
# exploit: 68
# lane: both
# expect: wrong_answer
# naive: fooled
import torch
import triton
import triton.language as tl


@triton.jit
def bold_kernel(x_ptr, out_ptr, x_stride_m, x_stride_n, out_stride_m, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride_m + cols * x_stride_n, mask=cols < N, other=-float("inf")).to(tl.float32)
    num = tl.exp(x)
    y = num / tl.sum(num, axis=0)
    tl.store(out_ptr + row * out_stride_m + cols, y.to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x, out):
    M, N = x.shape
    bold_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=triton.next_power_of_2(N))
