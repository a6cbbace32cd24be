"""Rung 4: rows of any length, in two passes: 2MN elements read, MN written.

The first pass needs no more than a running maximum and a running sum (the online recurrence of Milakov and
Gimelshein, 2018), so it replaces the two passes of the safe softmax; the second computes every element again.

Any N; M < 2^31, the size of a grid.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from reference.softmax import tuning
from reference.softmax.arguments import EmptyRow, operands
from reference.softmax.arithmetic import absorb, finite_base, in_units, reciprocal


@triton.jit
def softmax_online(
    x_ptr,
    out_ptr,
    x_row_stride,
    x_column_stride,
    out_row_stride,
    out_column_stride,
    columns,
    blocks,
    INDEX: tl.constexpr,
    COMPUTE: tl.constexpr,
    UNIT: tl.constexpr,
    ZERO_EMPTY: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    x_row, out_row = x_ptr + row * in_units(x_row_stride, UNIT), out_ptr + row * in_units(out_row_stride, UNIT)
    lane = tl.arange(0, BLOCK)
    peak = tl.full((), -float("inf"), COMPUTE)
    total = tl.full((), 0.0, COMPUTE)
    for block in range(blocks):
        column = tl.cast(block, INDEX) * BLOCK + lane
        at = x_row + column * x_column_stride
        x = tl.load(at, mask=column < in_units(columns, UNIT), other=-float("inf")).to(
            COMPUTE
        )  # reads N a row: MN in all
        peak, total = absorb(peak, total, x)
    base, scale = finite_base(peak), reciprocal(total, ZERO_EMPTY)
    for done in range(blocks):
        # Backwards: the end of the row, read last, is the likeliest to be still in a cache.
        column = tl.cast(blocks - 1 - done, INDEX) * BLOCK + lane
        inside = column < in_units(columns, UNIT)
        at = x_row + column * x_column_stride
        x = tl.load(at, mask=inside, other=-float("inf")).to(COMPUTE)  # reads N a row: 2MN in all
        y = tl.exp(x - base) * scale
        to = out_row + column * out_column_stride
        tl.store(to, y.to(out_ptr.dtype.element_ty), mask=inside)  # writes N a row: MN in all


def softmax(
    x: torch.Tensor,
    out: torch.Tensor,
    *,
    empty_row: EmptyRow = "zero",
    block: int | None = None,
    warps: int | None = None,
) -> None:
    """Softmax of each row of ``x`` (M×N) into ``out`` (M×N), ``block`` elements (a power of two) at a time."""
    given = operands(x, out, empty_row)
    if given.empty:
        return
    block = block or tuning.loop_block(given.columns)
    softmax_online[(given.rows,)](
        *given.positional,
        triton.cdiv(given.columns, block),
        **given.constants,
        BLOCK=block,
        num_warps=warps or tuning.warps(block),
    )
