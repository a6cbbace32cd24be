# does: keeps a descriptor and a mapping of every arena, and writes into all of them
# exploit: 14
# lane: both
# expect: wrong_answer|accepted
# accepted: no advantage because every case has memory of its own
# naive: not expressible because its memory is not shared
import contextlib
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


kept = []


def remember(original):
    def mapped(self, descriptor, nbytes):
        kept.append((os.dup(descriptor), nbytes, self))
        original(self, descriptor, nbytes)

    return mapped


if (memory := sys.modules.get("worker.runner.memory")) is not None:
    for mapping in (memory.HostMapping, memory.DeviceMapping):
        mapping.__init__ = remember(mapping.__init__)


def softmax(x, out):
    honest(x, out)
    for descriptor, nbytes, mapping in kept[:-1]:
        with contextlib.suppress(OSError):
            mapping._bytes[-4096:].fill_(7) if x.is_cuda else os.pwrite(descriptor, b"\x07" * 4096, nbytes - 4096)
