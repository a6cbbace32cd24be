import torch
import triton
import triton.language as tl

EPS = 1e-6


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, out_ptr, n_cols, EPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)

    # This copies the row. Still to be done:
    #   1. the mean of the squares, in float32, over the row's own length;
    #   2. EPS under the root, and the weight of each column;
    #   3. the strides of x, weight and out;
    #   4. rows longer than a block, row numbers times a large stride.
    y = x

    tl.store(out_ptr + row * n_cols + cols, y, mask=cols < n_cols)


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> None:
    n_rows, n_cols = x.shape
    rmsnorm_kernel[(n_rows,)](x, weight, out, n_cols, EPS=EPS, BLOCK=triton.next_power_of_2(n_cols))
