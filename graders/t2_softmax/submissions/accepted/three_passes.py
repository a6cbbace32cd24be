# expect: accepted
# Slow but plain: one pass for the max, one for the sum, one to write.
import torch
import triton
import triton.language as tl


@triton.jit
def three_pass_kernel(X, OUT, sx0, sx1, so0, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK)

    best = tl.full((BLOCK,), -float("inf"), tl.float32)
    for k in range(0, tl.cdiv(N, BLOCK)):
        c = k * BLOCK + offs
        x = tl.load(X + row * sx0 + c * sx1, mask=c < N, other=-float("inf")).to(tl.float32)
        best = tl.maximum(best, x)
    m = tl.max(best, axis=0)
    if m == -float("inf"):
        m = 0.0

    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, tl.cdiv(N, BLOCK)):
        c = k * BLOCK + offs
        x = tl.load(X + row * sx0 + c * sx1, mask=c < N, other=-float("inf")).to(tl.float32)
        acc += tl.exp(x - m)
    total = tl.sum(acc, axis=0)
    if total == 0.0:
        total = 1.0

    for k in range(0, tl.cdiv(N, BLOCK)):
        c = k * BLOCK + offs
        x = tl.load(X + row * sx0 + c * sx1, mask=c < N, other=-float("inf")).to(tl.float32)
        tl.store(OUT + row * so0 + c, (tl.exp(x - m) / total).to(OUT.dtype.element_ty), mask=c < N)


def softmax(x, out):
    three_pass_kernel[(x.shape[0],)](x, out, x.stride(0), x.stride(1), out.stride(0), x.shape[1], BLOCK=4096)
