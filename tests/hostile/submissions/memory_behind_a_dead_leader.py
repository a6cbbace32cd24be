# does: ends its main thread, goes on in another, and takes more memory than it may
# exploit: 62
# lane: both
# expect: memory_limit
# limits: host_memory_mib=768
# naive: not expressible because nothing there keeps it from it
import ctypes
import gc
import os
import platform
import threading

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


def runner_session():
    """The runner's own session, found among all objects; None in any other process."""
    return next((thing for thing in gc.get_objects() if type(thing).__name__ == "Session"), None)


SYS_EXIT = 60 if platform.machine() == "x86_64" else 93


def go_on(first):
    """Serve on in this thread. A session begins with "ready", which has been said."""
    send = session._channel.send
    send(first)
    hog = torch.ones(1000 << 18)
    session._channel.send = lambda message, *more: send(message, *more) if message["type"] != "ready" else None
    session.serve()


def answer(message, *more):
    first = truthful(message, *more)
    if message["type"] == "map":
        session._answer = truthful
        threading.Thread(target=go_on, args=(first,)).start()
        ctypes.CDLL(None).syscall(SYS_EXIT, 0)
    return first


softmax = honest
session = runner_session()
if session is not None and (torch.cuda.is_available() or os.environ.get("TRITON_INTERPRET") == "1"):
    truthful = session._answer
    session._answer = answer
