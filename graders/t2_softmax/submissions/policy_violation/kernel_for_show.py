# expect: policy_violation
# fails: basic, all_negative, large_magnitude, strided_views, huge, all_inf, partial_inf, lengths, dtypes, contract
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(src, dst, s_rs, d_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    y = tl.load(src + row * s_rs + cols, mask=cols < N)
    tl.store(dst + row * d_rs + cols, y, mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    y = x.softmax(-1)
    M, N = x.shape
    warps = 8 if N <= 16384 else 32
    copy_kernel[(M,)](y, out, y.stride(0), out.stride(0), N, BLOCK=triton.next_power_of_2(N), num_warps=warps)
