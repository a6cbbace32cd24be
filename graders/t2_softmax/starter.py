import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols)

    # This copies the row. Still to be done:
    #   1. the row's maximum, its exponentials, their sum;
    #   2. the right value for the elements beyond the row;
    #   3. the strides of x and out;
    #   4. rows with -inf, rows longer than a block, row numbers times a large stride.
    y = x

    tl.store(out_ptr + row * n_cols + cols, y, mask=cols < n_cols)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    n_rows, n_cols = x.shape
    softmax_kernel[(n_rows,)](x, out, n_cols, BLOCK=triton.next_power_of_2(n_cols))
