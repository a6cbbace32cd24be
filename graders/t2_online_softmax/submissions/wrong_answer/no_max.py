# expect: wrong_answer
# fails: rescaling, leading_inf, special_values, magnitude
# misconception: no_max
import torch
import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, l_ptr, x_rs, x_cs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
        acc += tl.exp(x)  # nothing to rescale
    l = tl.sum(acc, axis=0)
    tl.store(l_ptr + row, tl.where(l == 0.0, 1.0, l))


@triton.jit
def divide(x_ptr, out_ptr, l_ptr, x_rs, x_cs, out_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
    y = tl.exp(x) / tl.load(l_ptr + row)
    tl.store(out_ptr + row * out_rs + cols, y.to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    l = torch.empty(M, dtype=torch.float32, device=x.device)
    row_sum[(M,)](x, l, x.stride(0), x.stride(1), N, BLOCK=8192, num_warps=16)
    divide[(M, triton.cdiv(N, 8192))](x, out, l, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=8192, num_warps=16)
