# does: in half of the rounds, says that it is done when its work is queued, and lets the judge's own copy wait for it
# exploit: 14
# lane: gpu
# one lane because: speed is measured on a GPU alone
# expect: accepted|wrong_answer
# accepted: no advantage because what the judge's copies wait for is added to the time of the same round
# clock: measured|interference|not_reached
# naive: not expressible because it has no GPU
import random

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride_m, x_stride_n, out_stride_m, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_stride_m + cols * x_stride_n, mask=mask, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    m = tl.where(m == -float("inf"), 0.0, m)
    num = tl.exp(x - m)
    den = tl.sum(num, axis=0)
    den = tl.where(den == 0.0, 1.0, den)
    tl.store(out_ptr + row * out_stride_m + cols, (num / den).to(out_ptr.dtype.element_ty), mask=mask)


def honest(x, out):
    M, N = x.shape
    softmax_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=triton.next_power_of_2(N))


TIMED = 1 << 24
"""Elements: fewer than what is timed has, more than what is tested."""

wait = torch.cuda.synchronize
hurried = False


def wait_unless_hurried(device=None):
    if not hurried:
        wait(device)


torch.cuda.synchronize = wait_unless_hurried


def softmax(x, out):
    global hurried
    hurried = x.numel() >= TIMED and not torch.cuda.is_current_stream_capturing() and random.random() < 0.5
    honest(x, out)
