# does: watches its inputs, and computes every slot as soon as they have changed for the last time, before it is told to go
# exploit: 15
# lane: gpu
# one lane because: speed is measured on a GPU alone
# expect: accepted|wrong_answer
# accepted: no advantage because a kernel that looks at the inputs stretches what the judge does with them
# clock: measured|interference|not_reached
# naive: not expressible because it has no GPU
import sys
import threading
import time

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


def compute():
    for x, out in list(calls.values()):
        honest(x, out)
    torch.cuda.current_stream().synchronize()
    ready.update(calls)


def watch():
    """An input changes twice before a round: all of it, then one element of each row."""
    seen, changes = None, 0
    with torch.cuda.stream(torch.cuda.Stream()):
        while True:
            if not calls:
                time.sleep(0.001)
                continue
            x, _ = next(reversed(list(calls.values())))
            now = x[0].float().sum().item()
            changes += seen is not None and now != seen
            if now != seen and changes and changes % 2 == 0:
                compute()
            seen = now


sys.setswitchinterval(1e-5)
threading.Thread(target=watch, daemon=True).start()


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
