# expect: accepted
import torch
import triton
import triton.language as tl

NEG_INF = tl.constexpr(float("-inf"))


@triton.jit
def safe(m):
    return tl.where(m == NEG_INF, 0.0, m)


@triton.jit
def merge(m_a, l_a, m_b, l_b):
    """Two partial (max, sum) pairs become one."""
    m = tl.maximum(m_a, m_b)
    base = safe(m)
    return m, l_a * tl.exp(m_a - base) + l_b * tl.exp(m_b - base)


@triton.jit
def load_row(ptr, cols, stride, n):
    return tl.load(ptr + cols * stride, mask=cols < n, other=NEG_INF).to(tl.float32)


@triton.jit
def block_stats(x):
    m = tl.max(x, axis=0)
    return m, tl.sum(tl.exp(x - safe(m)), axis=0)


@triton.jit
def kernel(x_ptr, out_ptr, x_rs, x_cs, out_rs, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m, l = block_stats(load_row(x_ptr + row * x_rs, tl.arange(0, BLOCK), x_cs, n))
    for start in range(BLOCK, n, BLOCK):
        bm, bl = block_stats(load_row(x_ptr + row * x_rs, start + tl.arange(0, BLOCK), x_cs, n))
        m, l = merge(m, l, bm, bl)
    base = safe(m)
    l = tl.where(l == 0.0, 1.0, l)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = load_row(x_ptr + row * x_rs, cols, x_cs, n)
        tl.store(out_ptr + row * out_rs + cols, (tl.exp(x - base) / l).to(out_ptr.dtype.element_ty), mask=cols < n)


def launch(x, out, block):
    kernel[(x.shape[0],)](x, out, x.stride(0), x.stride(1), out.stride(0), x.shape[1], BLOCK=block)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    launch(x, out, block=1024 if x.shape[1] <= 8192 else 8192)
