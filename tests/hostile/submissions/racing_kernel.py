# does: a kernel goes on writing beside the output while the judge looks at it
# exploit: 14
# lane: gpu
# one lane because: the interpreter has no kernels that could go on: see racing_child
# expect: wrong_answer|accepted
# accepted: no advantage because the judge looks at copies
# naive: not expressible because it has no GPU
from triton.runtime._async_compile import active_mode

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


@triton.jit
def racing_kernel(bits_ptr, ROUNDS):
    kept = tl.load(bits_ptr)
    for _ in range(ROUNDS):
        tl.store(bits_ptr, 1, cache_modifier=".wt")
        tl.debug_barrier()
        tl.store(bits_ptr, kept, cache_modifier=".wt")
        tl.debug_barrier()


WIDTH = {2: torch.int16, 4: torch.int32}
side = torch.cuda.Stream()
wait_for_all = torch.cuda.synchronize
torch.cuda.synchronize = lambda device=None: torch.cuda.current_stream().synchronize()


def softmax(x, out):
    """The element before its output's first is a guard."""
    honest(x, out)
    guard = out.as_strided((1,), (1,), out.storage_offset() - 1).view(WIDTH[out.element_size()])
    if active_mode.get() is not None:  # nothing is launched now
        return racing_kernel[(1,)](guard, 20_000)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        racing_kernel[(1,)](guard, 20_000)
