"""Rung 4: rows of any length, in two passes: 2MN elements read, MN written.

The first pass needs no more than a running maximum and a running sum (the online recurrence of Milakov and
Gimelshein, 2018), so it replaces the two passes of the safe softmax; the second computes every element again.

The second reading need not come from memory: if no more rows are under way than half of the L2 cache holds, it finds
them there. So the grid is no larger than that, and programs go through many rows each; the first reading asks the cache
to keep what it brings, the second to let it go.

Any N and M.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from reference.softmax import tuning
from reference.softmax.arguments import EmptyRow, operands
from reference.softmax.arithmetic import absorb, exp, finite_base, reciprocal
from reference.softmax.hints import in_units


@triton.jit
def softmax_online(
    x_ptr,
    out_ptr,
    x_row_stride,
    x_column_stride,
    out_row_stride,
    out_column_stride,
    columns,
    rows,
    blocks,
    INDEX: tl.constexpr,
    COMPUTE: tl.constexpr,
    UNIT: tl.constexpr,
    ZERO_EMPTY: tl.constexpr,
    BLOCK: tl.constexpr,
):
    lane = tl.arange(0, BLOCK)
    for each in range(tl.program_id(0).to(tl.int64), rows, tl.num_programs(0)):
        row = tl.cast(each, tl.int64)  # the interpreter counts in Python's integers
        x_row, out_row = x_ptr + row * in_units(x_row_stride, UNIT), out_ptr + row * in_units(out_row_stride, UNIT)
        peak = tl.full((), -float("inf"), COMPUTE)
        total = tl.full((), 0.0, COMPUTE)
        for block in range(blocks):
            column = tl.cast(block, INDEX) * BLOCK + lane
            inside = column < in_units(columns, UNIT)
            at = x_row + column * x_column_stride
            x = tl.load(at, mask=inside, other=-float("inf"), eviction_policy="evict_last")  # reads N a row: MN in all
            peak, total = absorb(peak, total, x.to(COMPUTE))
        base, scale = finite_base(peak), reciprocal(total, ZERO_EMPTY)
        for done in range(blocks):
            # Backwards: the end of the row, read last, is the likeliest to be still in a cache.
            column = tl.cast(blocks - 1 - done, INDEX) * BLOCK + lane
            inside = column < in_units(columns, UNIT)
            at = x_row + column * x_column_stride
            x = tl.load(at, mask=inside, other=-float("inf"), eviction_policy="evict_first")  # reads N a row: 2MN
            y = (exp(x.to(COMPUTE) - base) * scale).to(out_ptr.dtype.element_ty)
            to = out_row + column * out_column_stride
            tl.store(to, y, mask=inside, eviction_policy="evict_first")  # writes N a row: MN in all


def softmax(
    x: torch.Tensor,
    out: torch.Tensor,
    *,
    empty_row: EmptyRow = "zero",
    block: int | None = None,
    warps: int | None = None,
    programs: int | None = None,
) -> None:
    """Softmax of each row of ``x`` (M×N) into ``out`` (M×N), ``block`` elements (a power of two) at a time.

    As many rows are under way as there are ``programs``.
    """
    given = operands(x, out, empty_row)
    if given.empty:
        return
    block = block or tuning.loop_block(given.columns)
    programs = programs or tuning.rows_under_way(x.device, given.columns * x.itemsize)
    softmax_online[(min(given.rows, programs),)](
        *given.positional,
        given.rows,
        triton.cdiv(given.columns, block),
        **given.constants,
        BLOCK=block,
        num_warps=warps or tuning.warps(block),
    )
