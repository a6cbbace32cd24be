# expect: memory_limit
# fails: basic, all_negative, large_magnitude, strided_views, huge, all_inf, partial_inf, lengths, dtypes, contract
import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

# Room for the longest rows there can be, ready before the first call.
WORKSPACE = []
for _ in range(96):
    WORKSPACE.append(torch.full((1 << 26,), -float("inf"), dtype=torch.float32, device=DEVICE))


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_rs, x_cs, out_rs, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=mask, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    m = tl.where(m == -float("inf"), 0.0, m)
    e = tl.exp(x - m)
    s = tl.sum(e, axis=0)
    s = tl.where(s == 0.0, 1.0, s)
    tl.store(out_ptr + row * out_rs + cols, (e / s).to(out_ptr.dtype.element_ty), mask=mask)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    BLOCK = triton.next_power_of_2(N)
    warps = 8 if N <= 16384 else 32
    softmax_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=BLOCK, num_warps=warps)
