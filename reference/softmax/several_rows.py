"""Rung 2: fused, several short rows a program: MN elements read, MN written.

A program that loads one row of 256 numbers has too few bytes under way to fill the memory pipeline, and there is one
program for every row to start and end. Here a program takes a tile of ROWS × BLOCK elements.

N ≤ 2048; M < 2^31 · ROWS.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from reference.softmax import tuning
from reference.softmax.arguments import EmptyRow, operands
from reference.softmax.arithmetic import exp, finite_base, reciprocal
from reference.softmax.hints import in_units

LONGEST_ROW = 2048


@triton.jit
def softmax_several_rows(
    x_ptr,
    out_ptr,
    x_row_stride,
    x_column_stride,
    out_row_stride,
    out_column_stride,
    columns,
    rows,
    INDEX: tl.constexpr,
    COMPUTE: tl.constexpr,
    UNIT: tl.constexpr,
    ZERO_EMPTY: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK).to(INDEX)
    inside = (row < rows)[:, None] & (column < in_units(columns, UNIT))[None, :]  # the last tile may have rows too many
    at = x_ptr + (row * in_units(x_row_stride, UNIT))[:, None] + (column * x_column_stride)[None, :]
    x = tl.load(at, mask=inside, other=-float("inf")).to(COMPUTE)  # reads ROWS·N: MN in all
    weight = exp(x - finite_base(tl.max(x, axis=1))[:, None])
    y = weight * reciprocal(tl.sum(weight, axis=1), ZERO_EMPTY)[:, None]
    to = out_ptr + (row * in_units(out_row_stride, UNIT))[:, None] + (column * out_column_stride)[None, :]
    tl.store(to, y.to(out_ptr.dtype.element_ty), mask=inside)  # writes ROWS·N: MN in all


def softmax(
    x: torch.Tensor,
    out: torch.Tensor,
    *,
    empty_row: EmptyRow = "zero",
    rows_per_program: int | None = None,
    warps: int | None = None,
) -> None:
    """Softmax of each row of ``x`` (M×N) into ``out`` (M×N). Raises ValueError for longer rows.

    ``rows_per_program`` is a power of two.
    """
    given = operands(x, out, empty_row, LONGEST_ROW)
    if given.empty:
        return
    block = triton.next_power_of_2(given.columns)
    tile_rows = rows_per_program or tuning.rows_per_program(block)
    softmax_several_rows[(triton.cdiv(given.rows, tile_rows),)](
        *given.positional,
        given.rows,
        **given.constants,
        ROWS=tile_rows,
        BLOCK=block,
        num_warps=warps or tuning.warps(tile_rows * block),
    )
