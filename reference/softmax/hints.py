"""What the kernels tell the compiler and the caches beside what they compute."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def in_units(count, UNIT: tl.constexpr):
    """``count``, which is a multiple of UNIT, in a form that tells the compiler so.

    A load is as wide as the row's address and its mask allow. Of integer arguments Triton notices only multiples of
    16, so that rows of 1000 or 8200 numbers of 16 bits would be loaded two bytes at a time.
    """
    return count // UNIT * UNIT


@triton.jit
def read_again(x, SHORT: tl.constexpr):
    """``x``, two elements to a register, as the compiler has not seen it: what was computed of it is computed again.

    Of 16-bit numbers the exponentials take twice the registers of the numbers, and a compiler that knows that they are
    needed later keeps them. Nothing is done without SHORT.
    """
    if SHORT:
        x = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], dtype=x.dtype, is_pure=False, pack=2)
    return x
