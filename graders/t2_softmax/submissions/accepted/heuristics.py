# expect: accepted
import torch
import triton
import triton.language as tl


@triton.heuristics(
    {
        "BLOCK": lambda args: triton.next_power_of_2(args["N"]),
        "UNIT": lambda args: args["x_col_stride"] == 1,
    }
)
@triton.jit
def softmax_kernel(
    x_ptr, out_ptr, x_row_stride, x_col_stride, out_row_stride, N, BLOCK: tl.constexpr, UNIT: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    if UNIT:
        x_ptrs = x_ptr + row * x_row_stride + cols
    else:
        x_ptrs = x_ptr + row * x_row_stride + cols * x_col_stride
    x = tl.load(x_ptrs, mask=mask, other=-float("inf")).to(tl.float32)
    m = tl.max(x, 0)
    e = tl.exp(x - tl.where(m == -float("inf"), 0.0, m))
    d = tl.sum(e, 0)
    y = e / tl.where(d == 0.0, 1.0, d)
    tl.store(out_ptr + row * out_row_stride + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    grid = lambda meta: (x.size(0),)
    warps = 8 if x.size(1) <= 16384 else 32
    softmax_kernel[grid](x, out, x.stride(0), x.stride(1), out.stride(0), x.size(1), num_warps=warps)
