# expect: accepted
import torch
import triton
import triton.language as tl


@triton.jit
def row_softmax(x_ptr, out_ptr, x_rs, x_cs, out_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    best = tl.full([BLOCK], -float("inf"), tl.float32)
    for k in range(tl.cdiv(N, BLOCK)):
        cols = k * BLOCK + lane
        x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
        best = tl.maximum(best, x)
    m = tl.max(best, axis=0)
    m = tl.where(m == -float("inf"), 0.0, m)
    acc = tl.zeros([BLOCK], tl.float32)
    for k in range(tl.cdiv(N, BLOCK)):
        cols = k * BLOCK + lane
        x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
        acc += tl.exp(x - m)
    l = tl.sum(acc, axis=0)
    l = tl.where(l == 0.0, 1.0, l)
    for k in range(tl.cdiv(N, BLOCK)):
        cols = k * BLOCK + lane
        x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
        tl.store(out_ptr + row * out_rs + cols, (tl.exp(x - m) / l).to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    row_softmax[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=8192, num_warps=16)
