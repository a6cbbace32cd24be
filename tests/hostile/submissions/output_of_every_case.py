# does: prints as much as it may in every case, in bytes that take six times the room in JSON
# exploit: 62
# lane: both
# expect: accepted|runtime_error|output_limit
# expect on gpu: accepted|runtime_error|output_limit|time_limit
# accepted: no advantage because output is shown and never read
# cases: all
# naive: not expressible because it keeps no output
from triton.runtime._async_compile import active_mode

import os

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
    block = triton.next_power_of_2(N)
    warps = 4 if N <= 8192 else 16
    softmax_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=block, num_warps=warps)


calls = 0


def softmax(x, out):
    global calls
    honest(x, out)
    if active_mode.get() is None and (x.is_cuda or os.environ.get("TRITON_INTERPRET") == "1"):  # it is run
        calls += 1
        if calls > 15:
            os._exit(0)
        os.write(1, b"\xff" * 65_536)
