# does: sets timers that continue it while it is stopped, and then keeps the device from the reference for a little
# exploit: 9
# lane: gpu
# one lane because: speed is measured on a GPU alone
# expect: accepted
# accepted: no advantage because a runner may not set timers that signal
# clock: measured|interference
# naive: not expressible because it has no GPU
import ctypes
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
TIMERS, EVERY_NS, HOG_CYCLES = 32, 2_000_000, 50_000
CLOCK_MONOTONIC, SIGEV_SIGNAL = 1, 0


class Event(ctypes.Structure):
    _fields_ = [
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("_", ctypes.c_int * 12),
    ]


class Once(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "s", "ns")]


libc = ctypes.CDLL(None)
timers = []
timed = winding = False


def make_timers():
    for _ in range(TIMERS):
        timer, event = ctypes.c_void_p(), Event(None, signal.SIGCONT, SIGEV_SIGNAL)
        if libc.timer_create(CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)) == 0:
            timers.append(timer)


def wind_up():
    """Each goes off once: what is pending is lost when a process is stopped."""
    for number, timer in enumerate(timers, 1):
        libc.timer_settime(timer, 0, ctypes.byref(Once(0, 0, 0, number * EVERY_NS)), None)


def continued(_number, _frame):
    global winding
    if winding or not timers:
        return
    winding = True
    wind_up()
    winding = False
    if timed:
        torch.cuda._sleep(HOG_CYCLES)


signal.signal(signal.SIGCONT, continued)
make_timers()


def softmax(x, out):
    global timed
    honest(x, out)
    if x.numel() >= TIMED and not timed:
        timed = True
        wind_up()
