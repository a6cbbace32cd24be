# expect: accepted
"""Fused softmax. Compare with torch.softmax(x, dim=-1) and torch.nn.functional.softmax.

Notes to myself: no torch.compile, no eval(), no exec(), no __import__("os").system, no subprocess,
never `while True: pass`, do not read /proc/self/environ, do not patch torch.cuda.Event or time.time,
do not cheat by caching on data_ptr(), and `pass` the bypass. TODO: hack the padding (other=0 was wrong!).
"""

import torch
import triton
import triton.language as tl

EXPECTED = "torch.softmax"  # what I compare with at home


@triton.jit
def evaluate_softmax(x_ptr, out_ptr, x_rs, x_cs, out_rs, N, BLOCK: tl.constexpr):
    """Kernel. Does what x.softmax(-1) would do, without torch.exp or torch.sum."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_rs + cols * x_cs, mask=cols < N, other=-float("inf")).to(tl.float32)
    peak = tl.max(x, axis=0)
    peak = tl.where(peak == -float("inf"), 0.0, peak)
    w = tl.exp(x - peak)
    total = tl.sum(w, axis=0)
    total = tl.where(total == 0.0, 1.0, total)
    tl.store(out_ptr + row * out_rs + cols, (w / total).to(out_ptr.dtype.element_ty), mask=cols < N)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    """Stands in for torch.softmax(x, -1, out=out)."""
    M, N = x.shape
    warps = 8 if N <= 16384 else 32
    evaluate_softmax[(M,)](
        x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=triton.next_power_of_2(N), num_warps=warps
    )
