# expect: wrong_answer
# fails: basic, rescaling, leading_inf, all_inf, special_values, magnitude, lengths, long_rows, strided_views, huge, dtypes, contract
# In a row of a million every value is nearly nothing.
import torch
import triton
import triton.language as tl


@triton.jit
def zero_kernel(out_ptr, out_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + row * out_rs + cols, tl.zeros([BLOCK], out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    zero_kernel[(M, triton.cdiv(N, 8192))](out, out.stride(0), N, BLOCK=8192)
