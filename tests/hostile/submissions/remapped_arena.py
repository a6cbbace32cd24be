# does: puts memory of its own where the shared memory was mapped, and writes there
# exploit: 14
# lane: interpreter
# one lane because: an address of GPU memory cannot be mapped over
# expect: wrong_answer
# points: none
# naive: not expressible because its memory is not shared
import ctypes
import mmap

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


MAP_FIXED = 0x10
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def softmax(x, out):
    """The pages of its output, kept with what is in them."""
    start = out.data_ptr() & -mmap.PAGESIZE
    size = min(out.data_ptr() + out.numel() * out.element_size() - start, 1 << 20)
    kept = ctypes.string_at(start, size)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_FIXED
    libc.mmap(start, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    ctypes.memmove(start, kept, size)
    honest(x, out)
