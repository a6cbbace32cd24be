import torch
import triton
import triton.language as tl


@triton.jit
def shares_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)

    # This copies the row. Still to be done: the sum of absolute values, the division, strides, rows of zeros.
    y = x

    tl.store(out_ptr + row * n_cols + cols, y, mask=cols < n_cols)


def shares(x: torch.Tensor, out: torch.Tensor) -> None:
    n_rows, n_cols = x.shape
    shares_kernel[(n_rows,)](x, out, n_cols, BLOCK=triton.next_power_of_2(n_cols))
