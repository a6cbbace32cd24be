"""Is anything wrong in an output that lies on a GPU? One kernel says so for all of it.

A right output is the usual one, and of 2^31 elements torch's operations, each through memory of its own, take a tenth
of a second. Where something is wrong, ``graders.compare`` looks again and says what.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from graders.tolerance import EXPONENT_BITS, Policy

BLOCK = 4096


@triton.jit(do_not_specialize=["numel"])
def _mark_wrong(
    got_ptr,
    expected_ptr,
    wrong_ptr,
    numel,
    RELATIVE: tl.constexpr,
    ABSOLUTE: tl.constexpr,
    ULPS_EPS: tl.constexpr,
    TINY: tl.constexpr,
    EXPONENT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Writes 1 if an element of this block is wrong. Bytes an element: the output's, and 8 of the oracle's."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < numel
    got = tl.load(got_ptr + at, mask=inside, other=0.0).to(tl.float64)
    expected = tl.load(expected_ptr + at, mask=inside, other=0.0)
    bound = tl.abs(expected) * RELATIVE + ABSOLUTE
    if ULPS_EPS > 0:
        power = (expected.to(tl.int64, bitcast=True) & EXPONENT).to(tl.float64, bitcast=True)
        bound += tl.maximum(power, TINY) * ULPS_EPS
    near = tl.abs(got - expected) <= bound  # false for NaN
    same = (got == expected) | ((got != got) & (expected != expected))
    finite = tl.abs(expected) < float("inf")
    right = tl.where(finite, near, same) | (at >= numel)
    if tl.min(right.to(tl.int32), axis=0) == 0:
        tl.store(wrong_ptr, 1)


def anything_wrong(got: torch.Tensor, expected: torch.Tensor, policy: Policy) -> bool:
    """Whether an element of ``got`` differs from the oracle's float64 ``expected`` of the same shape by more than the
    policy's bound, or is another than it where that is not finite. Waits for the device.
    """
    wrong = torch.zeros((), dtype=torch.int32, device=got.device)
    info, terms = torch.finfo(got.dtype), policy.terms(got.dtype)
    _mark_wrong[(triton.cdiv(got.numel(), BLOCK),)](
        got.contiguous(),
        expected.contiguous(),
        wrong,
        got.numel(),
        RELATIVE=terms.relative,
        ABSOLUTE=terms.absolute,
        ULPS_EPS=terms.ulps * info.eps,
        TINY=info.tiny,
        EXPONENT=EXPONENT_BITS,
        BLOCK=BLOCK,
        num_warps=4,
    )
    return bool(wrong)
