# does: keeps more memory than it may in System V segments that it has let go of
# exploit: 62
# lane: both
# expect: memory_limit|runtime_error
# limits: host_memory_mib=768
# naive: not expressible because nothing there keeps it from it
import ctypes
import os
import time

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


libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
SIZE = 300 << 20
done = False


def softmax(x, out):
    global done
    honest(x, out)
    if not done and (x.is_cuda or os.environ.get("TRITON_INTERPRET") == "1"):
        done = True
        for _ in range(4):
            address = libc.shmat(libc.shmget(0, ctypes.c_size_t(SIZE), 0o1600), None, 0)
            if address == ctypes.c_void_p(-1).value:
                raise MemoryError
            ctypes.memset(address, 1, SIZE)
            libc.shmdt(ctypes.c_void_p(address))
        time.sleep(0.5)
