# does: overwrites the machine code of libc's clock_gettime, so that every clock of the process stands still
# exploit: 4
# lane: both
# expect: accepted
# expect on gpu: accepted|runtime_error|time_limit
# accepted: no advantage because the judge's clock runs in another process
# naive: fooled about time
import ctypes
import mmap
import platform

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


STANDING_STILL = bytes.fromhex("48c7060100000048c746080000000031c0c3")  # {1, 0}; return 0
PROT_ALL = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC

if platform.machine() == "x86_64":
    libc = ctypes.CDLL(None)
    address = ctypes.cast(libc.clock_gettime, ctypes.c_void_p).value
    page = address & -mmap.PAGESIZE
    if libc.mprotect(ctypes.c_void_p(page), 2 * mmap.PAGESIZE, PROT_ALL) == 0:
        ctypes.memmove(address, STANDING_STILL, len(STANDING_STILL))

softmax = honest
