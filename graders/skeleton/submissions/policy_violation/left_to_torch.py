# expect: policy_violation
# fails: basic, lengths, views, zero_rows, dtypes, contract
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(y_ptr, out_ptr, out_row, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    y = tl.load(y_ptr + row * n + cols, mask=cols < n)
    tl.store(out_ptr + row * out_row + cols, y, mask=cols < n)


def shares(x, out):
    m, n = x.shape
    y = torch.nn.functional.normalize(x.float(), p=1.0, dim=1).to(x.dtype)
    copy_kernel[(m,)](y, out, out.stride(0), n, BLOCK=triton.next_power_of_2(n))
