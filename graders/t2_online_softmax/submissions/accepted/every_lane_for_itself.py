# expect: accepted
# Every lane keeps its own running max and sum; they are merged once, after the loop.
import torch
import triton
import triton.language as tl


@triton.jit
def lanes_kernel(x_ptr, out_ptr, x_rs, x_cs, out_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    m = tl.full([BLOCK], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + lane
        x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, x)
        base = tl.where(m_new == float("-inf"), 0.0, m_new)
        l = l * tl.exp(m - base) + tl.exp(x - base)
        m = m_new
    top = tl.max(m, axis=0)
    top = tl.where(top == float("-inf"), 0.0, top)
    total = tl.sum(l * tl.exp(m - top), axis=0)
    total = tl.where(total == 0.0, 1.0, total)
    for start in range(0, N, BLOCK):
        cols = start + lane
        x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
        tl.store(out_ptr + row * out_rs + cols, (tl.exp(x - top) / total).to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    lanes_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=4096, num_warps=8)
