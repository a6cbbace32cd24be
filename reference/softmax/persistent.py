"""Rung 3: as many programs as the GPU holds at once, each of which goes through many rows: MN read, MN written.

The loop lets the compiler load the next row while this one is computed; each row on its way costs a row of shared
memory.

N ≤ 32768; any M.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from reference.softmax import tuning
from reference.softmax.arguments import EmptyRow, operands
from reference.softmax.arithmetic import exp, finite_base, reciprocal
from reference.softmax.hints import in_units

LONGEST_ROW = 32768


@triton.jit
def softmax_persistent(
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
    BLOCK: tl.constexpr,
    STAGES: tl.constexpr,
):
    column = tl.arange(0, BLOCK).to(INDEX)
    inside = column < in_units(columns, UNIT)
    for turn in tl.range(tl.program_id(0).to(tl.int64), rows, tl.num_programs(0), num_stages=STAGES):
        row = tl.cast(turn, tl.int64)  # so it is already, but not in the interpreter, which counts in Python's integers
        at = x_ptr + row * in_units(x_row_stride, UNIT) + column * x_column_stride
        x = tl.load(at, mask=inside, other=-float("inf")).to(COMPUTE)  # reads N a row: MN in all
        weight = exp(x - finite_base(tl.max(x, axis=0)))
        y = weight * reciprocal(tl.sum(weight, axis=0), ZERO_EMPTY)
        to = out_ptr + row * in_units(out_row_stride, UNIT) + column * out_column_stride
        tl.store(to, y.to(out_ptr.dtype.element_ty), mask=inside)  # writes N a row: MN in all


def softmax(
    x: torch.Tensor,
    out: torch.Tensor,
    *,
    empty_row: EmptyRow = "zero",
    programs: int | None = None,
    stages: int | None = None,
    warps: int | None = None,
) -> None:
    """Softmax of each row of ``x`` (M×N) into ``out`` (M×N). Raises ValueError for longer rows."""
    given = operands(x, out, empty_row, LONGEST_ROW)
    if given.empty:
        return
    block = triton.next_power_of_2(given.columns)
    warps = warps or tuning.warps(block)
    programs = min(given.rows, programs or tuning.resident_programs(x.device, warps))
    softmax_persistent[(programs,)](
        *given.positional,
        given.rows,
        **given.constants,
        BLOCK=block,
        STAGES=stages or tuning.stages(block * x.itemsize),
        num_warps=warps,
    )
