# does: captures its first call as a graph and replays it, whatever the arguments
# exploit: 17
# lane: gpu
# one lane because: the interpreter has no graphs
# expect: wrong_answer|runtime_error|policy_violation
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


graphs = {}


def softmax(x, out):
    if active_mode.get() is not None:  # nothing is launched now
        return honest(x, out)
    if x.shape not in graphs:
        honest(x, out)
        torch.cuda.synchronize()
        graphs[x.shape] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[x.shape]):
            honest(x, out)
    graphs[x.shape].replay()
