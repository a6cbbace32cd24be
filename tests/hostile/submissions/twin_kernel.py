# does: has two kernels of one name: one for the compiler, and one for the interpreter in which numpy computes
# exploit: 65
# lane: both
# expect: accepted
# accepted: residual
# naive: fooled
import os

import numpy as np

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


arguments = []


def by_numpy(program):
    x, out = arguments
    row = int(program.handle.data[0])
    values = x.numpy()[row].astype(np.float64)
    peak = values.max()
    weights = np.exp(values - (0.0 if np.isinf(peak) else peak))
    total = weights.sum()
    out.numpy()[row] = weights / (total if total else 1.0)


if os.environ.get("TRITON_INTERPRET") == "1":

    @triton.jit
    def softmax_kernel(x_ptr, out_ptr, x_stride_m, x_stride_n, out_stride_m, N, BLOCK: tl.constexpr):
        by_numpy(tl.program_id(0))


def softmax(x, out):
    arguments[:] = [x, out]
    honest(x, out)
