# expect: wrong_answer
# fails: huge, dtypes
# misconception: sixteen_bits
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_rs, x_cs, out_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=mask, other=-float("inf"))
    m = tl.max(x, axis=0)
    m = tl.where(m == -float("inf"), 0.0, m)
    # tl.exp wants float32, but the result may as well stay in the input's type
    e = tl.exp((x - m).to(tl.float32)).to(x.dtype)
    s = tl.sum(e, axis=0)
    s = tl.where(s == 0.0, 1.0, s)
    tl.store(out_ptr + row * out_rs + cols, e / s, mask=mask)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    BLOCK = triton.next_power_of_2(N)
    warps = 8 if N <= 16384 else 32
    softmax_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=BLOCK, num_warps=warps)
