# expect: accepted
# Every lane keeps its own running max and sum; they are merged once, after the loop.
import torch
import triton
import triton.language as tl


@triton.jit
def lanes_kernel(x_ptr, out_ptr, stride_xm, stride_xn, stride_om, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * stride_xm
    out_ptr += row * stride_om
    lane = tl.arange(0, BLOCK)
    m = tl.full([BLOCK], float("-inf"), tl.float32)
    s = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + lane
        x = tl.load(x_ptr + cols * stride_xn, mask=cols < N, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m, x)
        safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        s = s * tl.exp(m - safe) + tl.exp(x - safe)
        m = m_new
    top = tl.max(m, axis=0)
    top = tl.where(top == float("-inf"), 0.0, top)
    total = tl.sum(s * tl.exp(m - top), axis=0)
    total = tl.where(total == 0.0, 1.0, total)
    for start in range(0, N, BLOCK):
        cols = start + lane
        x = tl.load(x_ptr + cols * stride_xn, mask=cols < N, other=float("-inf")).to(tl.float32)
        tl.store(out_ptr + cols, (tl.exp(x - top) / total).to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    BLOCK = min(2048, triton.next_power_of_2(N))
    lanes_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=BLOCK, num_warps=8)
