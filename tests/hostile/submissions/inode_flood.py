# does: makes tens of thousands of files
# exploit: 62
# lane: both
# expect: accepted|runtime_error|time_limit
# accepted: no advantage because the files are gone with the runner
# naive: not expressible because nothing there keeps it from it
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
    softmax_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=triton.next_power_of_2(N))


made = 0


def softmax(x, out):
    global made
    honest(x, out)
    while made < 20_000:
        os.close(os.open(f"{os.environ['TMPDIR']}/file{made}", os.O_CREAT | os.O_WRONLY))
        made += 1
