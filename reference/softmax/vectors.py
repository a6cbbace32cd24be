"""Rows that begin anywhere, loaded 16 bytes at a time: how they are cut at addresses that are multiples of 16.

Rows of 781 or 50257 numbers begin at odd addresses, and one instruction loads 16 bytes only from a multiple of 16.
Such a row is a head of up to SHIFT − 1 elements, a body of whole vectors and a tail; SHIFT is the number of elements
of a vector. Offsets of the body are SHIFT times something, which is how the compiler comes to know them as aligned.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from reference.softmax.arguments import WIDEST_LOAD, Operands
from reference.softmax.hints import in_units


def shift(given: Operands, x: torch.Tensor, out: torch.Tensor) -> int:
    """Elements of a vector if x's and out's rows can be cut alike, and have to be; else 1: rows are taken as they are.

    They can be if every row of ``out`` lies as far from a multiple of 16 bytes as its row of ``x``.
    """
    vector = WIDEST_LOAD // x.itemsize
    alike = x.stride(1) == out.stride(1) == 1 and (x.stride(0) - out.stride(0)) % vector == 0
    aligned = x.data_ptr() % WIDEST_LOAD == out.data_ptr() % WIDEST_LOAD == 0
    wanted = given.constants["UNIT"] < vector and given.columns >= 2 * vector
    return vector if alike and aligned and wanted else 1


@triton.jit
def body_start(row, row_stride, UNIT: tl.constexpr, SHIFT: tl.constexpr):
    """Offset of the first whole vector of a row: of its first element if rows are taken as they are."""
    return row * in_units(row_stride, UNIT) if SHIFT == 1 else (row * row_stride + (SHIFT - 1)) // SHIFT * SHIFT


@triton.jit
def head_length(row, row_stride, SHIFT: tl.constexpr):
    """Elements of a row before its first whole vector: 0 to SHIFT - 1."""
    return ((SHIFT - 1) - (row * row_stride + (SHIFT - 1)) % SHIFT).to(tl.int32)


@triton.jit
def around(lane, head, body, SHIFT: tl.constexpr):
    """Where the elements beside the body are, counted from its start: first those of the head, then those of the tail.

    ``lane`` counts them, and ``body`` is the body's length. Without a head it is the tail alone.
    """
    return body + lane if SHIFT == 1 else tl.where(lane < head, lane, body + lane) - head
