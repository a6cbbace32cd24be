# expect: accepted
# Works on float32 copies with simple strides, and lets torch convert and place the result.
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_fp32(src, dst, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(src + row * N + cols, mask=cols < N, other=-float("inf"))
    m = tl.max(x, axis=0)
    m = tl.where(m == -float("inf"), 0.0, m)
    e = tl.exp(x - m)
    d = tl.sum(e, axis=0)
    d = tl.where(d == 0.0, 1.0, d)
    tl.store(dst + row * N + cols, e / d, mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    src = x.to(torch.float32).contiguous()
    dst = torch.empty_like(src)
    N = src.shape[1]
    warps = 8 if N <= 16384 else 32
    softmax_fp32[(src.shape[0],)](src, dst, N, BLOCK=triton.next_power_of_2(N), num_warps=warps)
    out.copy_(dst)
