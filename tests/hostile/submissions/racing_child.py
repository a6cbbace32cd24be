# does: a child goes on writing into the guards of shared memory while the judge looks at them
# exploit: 14
# lane: interpreter
# one lane because: a forked process cannot reach GPU memory: see racing_kernel
# expect: wrong_answer
# cases: all
# naive: not expressible because its memory is not shared
import ctypes
import os
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


PAGE = 4096


def hammer(address):
    memset = ctypes.CDLL(None).memset
    memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    while True:
        memset(address, 1, PAGE)
        memset(address, 0, PAGE)


child = None


def softmax(x, out):
    """The arena's first page lies before the page of the first storage."""
    global child
    honest(x, out)
    if os.environ.get("TRITON_INTERPRET") != "1":
        return
    if child is not None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    start = x.untyped_storage().data_ptr() - PAGE
    child = os.fork()
    if child == 0:
        hammer(start)
    while not ctypes.string_at(start, 1)[0]:
        pass
