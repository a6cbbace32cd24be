# does: writes infinities, negative zeros, subnormal and the largest numbers, and NaNs that signal
# exploit: 71
# lane: both
# expect: wrong_answer
# points: none
# naive: not expressible because what it expects is none of these
import torch
import triton
import triton.language as tl


INF, TINY, BIG, NEGATIVE_ZERO = 0x7F800000, 0x00010000, 0x7F7F0000, -0x80000000
SIGNALLING = INF | 0x00010000


@triton.jit
def odd_kernel(patterns_ptr, out_ptr, out_stride_m, COUNT, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    odd = tl.load(patterns_ptr + (cols + row) % COUNT, mask=cols < N, other=0)
    tl.store(out_ptr + row * out_stride_m + cols, odd, mask=cols < N)


def patterns(out):
    """The upper bits of float32 are bfloat16; float16 has its own."""
    words = [INF, INF - 0x80000000, NEGATIVE_ZERO, TINY, BIG, SIGNALLING]
    if out.dtype == torch.float16:
        return torch.tensor([0x7C00, -0x400, -0x8000, 0x0001, 0x7BFF, 0x7C01], dtype=torch.int16, device=out.device)
    if out.dtype == torch.bfloat16:
        return torch.tensor([word >> 16 for word in words], dtype=torch.int16, device=out.device)
    return torch.tensor(words, dtype=torch.int32, device=out.device)


def softmax(x, out):
    M, N = out.shape
    odd = patterns(out)
    odd_kernel[(M,)](odd, out.view(odd.dtype), out.stride(0), len(odd), N, BLOCK=triton.next_power_of_2(N))
