"""The host's side of every rung: what is accepted, and what kernels are told of a pair of matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
import triton.language as tl

EmptyRow = Literal["zero", "nan"]
"""What a row of nothing but −inf gives: zeros, as attention needs it, or NaN, as ``torch.softmax`` has it."""

COMPUTE = {torch.float16: tl.float32, torch.bfloat16: tl.float32, torch.float32: tl.float32, torch.float64: tl.float64}
"""The dtype that a kernel computes in, by the matrix's dtype."""

COMPUTE_DTYPE = {dtype: torch.float64 if dtype is torch.float64 else torch.float32 for dtype in COMPUTE}
"""The same as torch's dtypes, for what lies in memory."""

WIDEST_LOAD = 16
"""Bytes that a thread loads at most with one instruction."""

LARGEST_BLOCK = 1 << 16
"""No kernel looks further than one block of this size beyond the end of a row."""


@dataclass(frozen=True)
class Operands:
    """A checked pair of matrices, as kernels take it."""

    rows: int
    columns: int
    positional: tuple[Any, ...]
    """x, out, x's row and column stride, out's row and column stride, columns."""
    constants: dict[str, Any]
    """INDEX: the integer type of offsets within a row; COMPUTE; UNIT: a power of two that divides the row strides and
    ``columns``; ZERO_EMPTY: whether an all −inf row gives zeros."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return self.rows == 0 or self.columns == 0


def operands(x: torch.Tensor, out: torch.Tensor, empty_row: EmptyRow, longest_row: int | None = None) -> Operands:
    """Check ``x`` and ``out``: M×N, the same floating dtype and device, any strides. Raises ValueError.

    ``longest_row`` is the largest N that the caller can take.
    """
    _check(x, out, empty_row)
    rows, columns = x.shape
    if longest_row is not None and columns > longest_row:
        raise ValueError(f"rows of {columns} elements, but at most {longest_row} are taken here")
    return Operands(
        rows,
        columns,
        (x, out, x.stride(0), x.stride(1), out.stride(0), out.stride(1), columns),
        {
            "INDEX": _index_type(x, out),
            "COMPUTE": COMPUTE[x.dtype],
            "UNIT": math.gcd(columns, x.stride(0), out.stride(0), WIDEST_LOAD // x.itemsize),
            "ZERO_EMPTY": empty_row == "zero",
        },
    )


def _check(x: torch.Tensor, out: torch.Tensor, empty_row: EmptyRow) -> None:
    if x.dim() != 2:
        raise ValueError(f"x is a matrix, not of shape {tuple(x.shape)}")
    if x.dtype not in COMPUTE:
        raise ValueError(f"x is of a floating type of 16, 32 or 64 bits, not {x.dtype}")
    if (out.shape, out.dtype, out.device) != (x.shape, x.dtype, x.device):
        raise ValueError(
            f"out is like x in shape, dtype and device: {tuple(out.shape)}, {out.dtype}, {out.device} "
            f"beside {tuple(x.shape)}, {x.dtype}, {x.device}"
        )
    if empty_row not in get_args(EmptyRow):
        raise ValueError(f"empty_row is one of {get_args(EmptyRow)}, not {empty_row!r}")


def _index_type(x: torch.Tensor, out: torch.Tensor) -> Any:
    """32 bits where every offset within a row fits: 64-bit offsets of a whole block cost registers."""
    columns = x.shape[1]
    furthest = max(columns + LARGEST_BLOCK, (columns - 1) * max(x.stride(1), out.stride(1)))
    return tl.int64 if furthest >= 2**31 else tl.int32
