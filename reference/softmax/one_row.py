"""Rung 1: fused. One program a row, the row in registers: MN elements read, MN written, which nothing can beat.

N ≤ 65536: 32 warps then hold 64 elements a thread. M < 2^31, the size of a grid.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from reference.softmax import tuning
from reference.softmax.arguments import EmptyRow, operands
from reference.softmax.arithmetic import exp, finite_base, reciprocal
from reference.softmax.hints import in_units

LONGEST_ROW = 65536


@triton.jit
def softmax_one_row(
    x_ptr,
    out_ptr,
    x_row_stride,
    x_column_stride,
    out_row_stride,
    out_column_stride,
    columns,
    INDEX: tl.constexpr,
    COMPUTE: tl.constexpr,
    UNIT: tl.constexpr,
    ZERO_EMPTY: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)  # row times stride passes 2^31 long before memory ends
    column = tl.arange(0, BLOCK).to(INDEX)
    inside = column < in_units(columns, UNIT)
    at = x_ptr + row * in_units(x_row_stride, UNIT) + column * x_column_stride
    x = tl.load(at, mask=inside, other=-float("inf")).to(COMPUTE)  # reads N: MN in all
    weight = exp(x - finite_base(tl.max(x, axis=0)))  # 0 in the padding
    y = weight * reciprocal(tl.sum(weight, axis=0), ZERO_EMPTY)
    to = out_ptr + row * in_units(out_row_stride, UNIT) + column * out_column_stride
    tl.store(to, y.to(out_ptr.dtype.element_ty), mask=inside)  # writes N: MN in all


def softmax(x: torch.Tensor, out: torch.Tensor, *, empty_row: EmptyRow = "zero", warps: int | None = None) -> None:
    """Softmax of each row of ``x`` (M×N) into ``out`` (M×N). Raises ValueError for longer rows."""
    given = operands(x, out, empty_row, LONGEST_ROW)
    if given.empty:
        return
    block = triton.next_power_of_2(given.columns)
    softmax_one_row[(given.rows,)](
        *given.positional, **given.constants, BLOCK=block, num_warps=warps or tuning.warps(block)
    )
