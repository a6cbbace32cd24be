# expect: wrong_answer
# fails: basic, all_negative, large_magnitude, strided_views, huge, all_inf, partial_inf, lengths, dtypes, contract
import torch
import triton
import triton.language as tl


@triton.jit
def mean_kernel(out_ptr, out_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    y = tl.full([BLOCK], 1.0, tl.float32) / N
    tl.store(out_ptr + row * out_rs + cols, y.to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    mean_kernel[(M,)](out, out.stride(0), N, BLOCK=triton.next_power_of_2(N))
