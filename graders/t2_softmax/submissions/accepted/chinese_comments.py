# expect: accepted
"""逐行 softmax：一行一个 program，整行放进寄存器。"""
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, x_step, out_stride, n, BLOCK: tl.constexpr):
    # 每个 program 负责一行；转成 int64，避免行偏移溢出
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    # 超出行尾的位置填 -inf：不影响最大值，exp 之后是 0
    x = tl.load(x_ptr + row * x_stride + cols * x_step, mask=mask, other=-float("inf")).to(tl.float32)
    最大 = tl.max(x, axis=0)
    最大 = tl.where(最大 == -float("inf"), 0.0, 最大)  # 整行都是 -inf
    分子 = tl.exp(x - 最大)
    分母 = tl.sum(分子, axis=0)
    分母 = tl.where(分母 == 0.0, 1.0, 分母)
    tl.store(out_ptr + row * out_stride + cols, (分子 / 分母).to(out_ptr.dtype.element_ty), mask=mask)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    """入口：结果写进 out，什么也不返回。"""
    行数, 列数 = x.shape
    块长 = triton.next_power_of_2(列数)
    warps = 8 if 列数 <= 16384 else 32
    softmax_kernel[(行数,)](x, out, x.stride(0), x.stride(1), out.stride(0), 列数, BLOCK=块长, num_warps=warps)
