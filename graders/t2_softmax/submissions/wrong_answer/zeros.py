# expect: wrong_answer
# fails: basic, all_negative, large_magnitude, strided_views, huge, all_inf, partial_inf, lengths, dtypes, contract
import torch
import triton
import triton.language as tl


@triton.jit
def zero_kernel(out_ptr, out_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    tl.store(out_ptr + row * out_rs + cols, tl.zeros([BLOCK], out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape  # every value is about 1/N, that is nearly nothing
    zero_kernel[(M,)](out, out.stride(0), N, BLOCK=triton.next_power_of_2(N))
