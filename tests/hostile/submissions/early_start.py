# does: computes every slot when it is woken, before it is told to go, and nothing when it is
# exploit: 15
# lane: gpu
# one lane because: speed is measured on a GPU alone
# expect: accepted|wrong_answer
# accepted: no advantage because what it computed is stale when it is told to go
# clock: measured|interference|not_reached
# naive: not expressible because it has no GPU
import signal

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

calls = {}
ready = set()


def woken(_number, _frame):
    """A runner is stopped while the other's time is taken: what wakes it says that its own comes."""
    for x, out in calls.values():
        honest(x, out)
    torch.cuda.synchronize()
    ready.update(calls)


signal.signal(signal.SIGCONT, woken)


def softmax(x, out):
    if x.numel() < TIMED:
        return honest(x, out)
    if torch.cuda.is_current_stream_capturing():
        raise RuntimeError("this cannot be captured: what is captured cannot be left out")
    key = x.data_ptr(), out.data_ptr()
    calls[key] = x, out
    if key in ready:
        ready.discard(key)
    else:
        honest(x, out)
