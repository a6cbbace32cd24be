# expect: wrong_answer
# fails: leading_inf, all_inf, lengths, long_rows, dtypes
# misconception: one_block
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_rs, x_cs, out_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    m = tl.where(m == -float("inf"), 0.0, m)
    num = tl.exp(x - m)
    l = tl.sum(num, axis=0)
    l = tl.where(l == 0.0, 1.0, l)
    tl.store(out_ptr + row * out_rs + cols, (num / l).to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    BLOCK = min(triton.next_power_of_2(N), 32768)  # as much as a program can hold
    softmax_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=BLOCK, num_warps=16)
