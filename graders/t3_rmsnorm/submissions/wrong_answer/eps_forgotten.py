# expect: wrong_answer
# fails: small
# misconception: no_eps
import torch
import triton
import triton.language as tl


EPS = 1e-6


@triton.jit
def rmsnorm_kernel(x_ptr, w_ptr, out_ptr, x_rs, x_cs, w_s, out_rs, N, EPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols * w_s, mask=mask, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / N)
    y = x * scale * w
    tl.store(out_ptr + row * out_rs + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> None:
    M, N = x.shape
    BLOCK = triton.next_power_of_2(N)
    warps = 8 if N <= 16384 else 32
    rmsnorm_kernel[(M,)](
        x, weight, out, x.stride(0), x.stride(1), weight.stride(0), out.stride(0), N, EPS=EPS, BLOCK=BLOCK, num_warps=warps
    )
