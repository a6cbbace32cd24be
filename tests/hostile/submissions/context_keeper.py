# does: launches tiny kernels while it waits to be told to go, so that the device need not be switched to it
# exploit: 16
# lane: gpu
# one lane because: speed is measured on a GPU alone
# expect: accepted
# accepted: no advantage because they stretch what the judge does, or gain less than the spread
# clock: measured|interference
# naive: not expressible because it has no GPU
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


doorbell = sys.modules["worker.protocol.doorbell"]
wait = doorbell.Doorbell.wait
LOOKS = 1000


def wait_and_stay(self):
    looks = 0
    while self._words[doorbell._RUNG] == self._seen:
        looks += 1
        if looks % LOOKS == 0:
            torch.cuda._sleep(100)
    return wait(self)


doorbell.Doorbell.wait = wait_and_stay
softmax = honest
