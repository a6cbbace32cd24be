"""What the kernels compute alike: exponentials, guards against 0/0 and −inf − (−inf), the online recurrence."""

from __future__ import annotations

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)
INTERPRETED = tl.constexpr(triton.knobs.runtime.interpret)
"""Whether the kernels run in Triton's interpreter, which knows no assembly."""


@triton.jit
def exp2(x):
    """2^x of many elements, and 0 where it is below 2^-126.

    Triton's own has the GPU multiply there and square the result, for the sake of numbers that are too small to matter
    beside a row's largest weight of 1: three more instructions for each element, where 16-bit rows have about eight.
    """
    if INTERPRETED or x.dtype != tl.float32:
        y = tl.exp2(x)
    else:
        command: tl.constexpr = "ex2.approx.ftz.f32 $0, $1;"
        y = tl.inline_asm_elementwise(command, "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    return y


@triton.jit
def exp(x):
    """e^x of many elements, as 2^(x·log2 e)."""
    return exp2(x * LOG2_E) if x.dtype == tl.float32 else tl.exp(x)


@triton.jit
def scaled_exp(x, power):
    """e^x·2^power of many elements, the factor at no cost: the exponent is the result of one multiplication and sum.

    The exponent's rounding is that of the power, 2^-20 for 2^20 columns: for results that are rounded to 16 bits.
    """
    return exp2(x * LOG2_E + power)


@triton.jit
def finite_base(peak):
    """What to subtract in exponents: the maximum, but 0 while that is -inf, because -inf - -inf is NaN."""
    return tl.where(peak == -float("inf"), 0.0, peak)


@triton.jit
def reciprocal(total, ZERO_EMPTY: tl.constexpr):
    """1/total. A total of 0 means a row of nothing but -inf: 1, so that its weights of 0 stay 0, else inf: 0·inf = NaN.

    Any other total is at least 1, the weight of the maximum, or NaN. One division a row instead of one an element.
    """
    return 1.0 / tl.where(total == 0, 1.0, total) if ZERO_EMPTY else 1.0 / total


@triton.jit
def absorb(peak, total, x):
    """The running maximum and the running sum of exp(x - maximum) after one more block ``x``, padded with -inf."""
    higher = tl.maximum(peak, tl.max(x, axis=0))
    base = finite_base(higher)
    return higher, total * tl.exp(peak - base) + tl.sum(exp(x - base), axis=0)
