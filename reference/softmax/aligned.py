"""Rung 7: several short rows that begin anywhere, 16 bytes a load: MN elements read, MN written.

Rows of 781 numbers of 16 bits begin at any even address. Loaded as they are, that takes an instruction for every two
bytes; here every row of a tile is cut at its own first multiple of 16 bytes. The body is loaded in whole vectors, and
a second, narrow load takes the few elements before and behind it.

N ≤ 2048; M < 2^31 · ROWS. Rows that need no cutting, or cannot be cut (strides between columns, an output that lies
otherwise than the input), are taken as they are.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from reference.softmax import tuning
from reference.softmax.arguments import EmptyRow, operands
from reference.softmax.arithmetic import exp, finite_base, reciprocal
from reference.softmax.hints import in_units
from reference.softmax.vectors import around, body_start, head_length, shift

LONGEST_ROW = 2048


@triton.jit
def softmax_aligned(
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
    SHIFT: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]
    head = head_length(row, x_row_stride, SHIFT)
    length = in_units(columns, UNIT)
    body = (length - head) // SHIFT * SHIFT
    x_body = x_ptr + body_start(row, x_row_stride, UNIT, SHIFT)
    out_body = out_ptr + body_start(row, out_row_stride, UNIT, SHIFT)
    column = tl.arange(0, BLOCK).to(INDEX)[None, :]
    inside = (row < rows) & (column < body)
    x = tl.load(x_body + column * x_column_stride, mask=inside, other=-float("inf")).to(COMPUTE)
    lane = tl.arange(0, 2 * SHIFT)[None, :]
    beside = around(lane, head, body, SHIFT).to(INDEX)
    at_edge = (row < rows) & (lane < length - body)
    edge = tl.load(x_body + beside * x_column_stride, mask=at_edge, other=-float("inf")).to(COMPUTE)
    base = finite_base(tl.maximum(tl.max(x, axis=1), tl.max(edge, axis=1)))[:, None]  # both read N a row: MN in all
    weight, edge_weight = exp(x - base), exp(edge - base)
    scale = reciprocal(tl.sum(weight, axis=1) + tl.sum(edge_weight, axis=1), ZERO_EMPTY)[:, None]
    to, to_edge = out_body + column * out_column_stride, out_body + beside * out_column_stride
    tl.store(to, (weight * scale).to(out_ptr.dtype.element_ty), mask=inside)
    tl.store(to_edge, (edge_weight * scale).to(out_ptr.dtype.element_ty), mask=at_edge)  # both write N a row: MN in all


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
    vector = shift(given, x, out)
    block = triton.next_power_of_2(given.columns // vector * vector)
    tile_rows = rows_per_program or tuning.rows_per_program(block)
    softmax_aligned[(triton.cdiv(given.rows, tile_rows),)](
        *given.positional,
        given.rows,
        **given.constants,
        SHIFT=vector,
        ROWS=tile_rows,
        BLOCK=block,
        num_warps=warps or tuning.warps(tile_rows * block),
    )
