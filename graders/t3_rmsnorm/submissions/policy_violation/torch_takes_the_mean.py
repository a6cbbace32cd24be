# expect: policy_violation
# fails: basic, weights, small, large, lengths, strided_views, huge, dtypes, contract
import torch
import triton
import triton.language as tl


EPS = 1e-6


@triton.jit
def scale_rows(x_ptr, mean_ptr, w_ptr, out_ptr, x_rs, x_cs, w_s, out_rs, N, EPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols * w_s, mask=mask, other=0.0).to(tl.float32)
    y = x * tl.rsqrt(tl.load(mean_ptr + row) + EPS) * w
    tl.store(out_ptr + row * out_rs + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    mean = x.float().square().mean(1)
    warps = 8 if N <= 16384 else 32
    scale_rows[(M,)](
        x, mean, weight, out, x.stride(0), x.stride(1), weight.stride(0), out.stride(0), N,
        EPS=EPS, BLOCK=triton.next_power_of_2(N), num_warps=warps,
    )
