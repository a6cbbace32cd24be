# does: shrinks, seals and punches holes into the shared memory under the judge
# exploit: 14
# lane: interpreter
# one lane because: GPU memory has no size to change once it is made
# expect: wrong_answer|runtime_error
# points: none
# naive: not expressible because its memory is not shared
import contextlib
import ctypes
import fcntl
import os
import sys

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


held = []
PUNCH_HOLE_KEEP_SIZE = 3
SHRINKABLE = fcntl.F_SEAL_WRITE if hasattr(fcntl, "F_SEAL_WRITE") else 8


def remember(original):
    def mapped(self, descriptor, nbytes):
        held[:] = [(os.dup(descriptor), nbytes)]
        original(self, descriptor, nbytes)

    return mapped


if (memory := sys.modules.get("worker.runner.memory")) is not None:
    memory.HostMapping.__init__ = remember(memory.HostMapping.__init__)


def softmax(x, out):
    honest(x, out)
    for descriptor, nbytes in held:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SHRINKABLE)
        ctypes.CDLL(None).fallocate(descriptor, PUNCH_HOLE_KEEP_SIZE, ctypes.c_long(0), ctypes.c_long(nbytes))
