# expect: accepted
import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 4096}, num_warps=8),
        triton.Config({"BLOCK": 8192}, num_warps=16),
    ],
    key=["N"],
)
@triton.jit
def tuned_softmax(x_ptr, out_ptr, x_sm, x_sn, out_sm, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = -float("inf")
    l = 0.0
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_sm + cols * x_sn, mask=cols < N, other=-float("inf")).to(tl.float32)
        new = tl.maximum(m, tl.max(x, axis=0))
        base = tl.where(new == -float("inf"), 0.0, new)
        l = l * tl.exp(m - base) + tl.sum(tl.exp(x - base), axis=0)
        m = new
    base = tl.where(m == -float("inf"), 0.0, m)
    l = tl.where(l == 0.0, 1.0, l)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_sm + cols * x_sn, mask=cols < N, other=-float("inf")).to(tl.float32)
        tl.store(out_ptr + row * out_sm + cols, (tl.exp(x - base) / l).to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    tuned_softmax[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N)
