# expect: accepted
import torch
import triton
import triton.language as tl


@triton.jit
def online_kernel(x_ptr, out_ptr, x_rs, x_cs, out_rs, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_rs
    out_row = out_ptr + row * out_rs
    最大 = -float("inf")  # 目前为止的最大值
    和 = 0.0  # 以“最大”为基准的和
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols * x_cs, mask=cols < n, other=-float("inf")).to(tl.float32)
        新最大 = tl.maximum(最大, tl.max(x, axis=0))
        基准 = tl.where(新最大 == -float("inf"), 0.0, 新最大)  # 到现在全是 -inf
        和 = 和 * tl.exp(最大 - 基准) + tl.sum(tl.exp(x - 基准), axis=0)
        最大 = 新最大
    基准 = tl.where(最大 == -float("inf"), 0.0, 最大)
    倒数 = 1.0 / tl.where(和 == 0.0, 1.0, 和)
    steps = tl.cdiv(n, BLOCK)
    for i in range(0, steps):
        # 倒着走：刚读过的行尾还在 cache 里
        cols = (steps - 1 - i) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols * x_cs, mask=cols < n, other=-float("inf")).to(tl.float32)
        tl.store(out_row + cols, (tl.exp(x - 基准) * 倒数).to(out_ptr.dtype.element_ty), mask=cols < n)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    BLOCK = 16384 if N > 65536 else max(128, triton.next_power_of_2(N) // 4)
    warps = 4 if BLOCK <= 2048 else 8 if BLOCK <= 8192 else 16
    online_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=BLOCK, num_warps=warps)
