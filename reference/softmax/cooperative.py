"""Rung 8: long rows in registers, each shared by S programs that wait for one another: MN elements read, MN written.

A row of 131072 numbers fits no program, but eight programs hold it. Each reads its slice, leaves the slice's maximum
and sum where the others find them, waits for theirs and writes its slice. All programs have to be resident at once,
because those that wait keep their place: the grid has as many as the GPU holds, in groups of S that take one row after
the other, and it is launched as cooperative, so that a GPU that cannot hold it refuses instead of hanging.

Of a row that waits nothing moves, so every multiprocessor has several programs, of different rows for the most part,
and each asks for its slice of the next row to be brought into the L2 cache as soon as it has asked for this one.

N ≤ 2^20, if S programs are resident at once. On the host a program takes a whole row, as nobody runs beside it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from reference.softmax import tuning
from reference.softmax.arguments import COMPUTE_DTYPE, EmptyRow, operands
from reference.softmax.arithmetic import exp, finite_base, reciprocal
from reference.softmax.hints import in_units, prefetch, read_again
from reference.softmax.meeting import (
    count_turns,
    group_words,
    leave_partial,
    merge_partials,
    plan,
    turns_before,
    words,
    words_of,
)
from reference.softmax.vectors import around, body_start, head_length, shift

LONGEST_ROW = 1 << 20

TURNS = 2
"""Turns whose maxima and sums are kept. A program that leaves those of turn t + 2 has waited for turn t + 1, in which
nobody leaves any before it has read those of turn t."""


@triton.jit(do_not_specialize=["splits", "rows"])
def softmax_cooperative(
    x_ptr,
    out_ptr,
    x_row_stride,
    x_column_stride,
    out_row_stride,
    out_column_stride,
    columns,
    rows,
    words_ptr,
    words_each,
    splits,
    slice_length,
    INDEX: tl.constexpr,
    COMPUTE: tl.constexpr,
    UNIT: tl.constexpr,
    ZERO_EMPTY: tl.constexpr,
    SHIFT: tl.constexpr,
    BLOCK: tl.constexpr,
    SPLITS: tl.constexpr,
    AHEAD: tl.constexpr,
    SHORT: tl.constexpr,
    KEPT: tl.constexpr,
):
    split, group = tl.program_id(0) % splits, tl.program_id(0) // splits
    groups = tl.num_programs(0) // splits
    words_ptr += group * words_each
    before = turns_before(words_ptr) if SPLITS > 1 else 0
    which, other = tl.arange(0, COMPUTE.primitive_bitwidth // 16)[:, None], tl.arange(0, SPLITS)[None, :]
    lane, edge_lane = tl.arange(0, BLOCK).to(INDEX), tl.arange(0, 2 * SHIFT)
    first = split.to(INDEX) * in_units(slice_length, 16)
    length = in_units(columns, UNIT)
    turn = 0
    for each in range(group, rows, groups):
        row = tl.cast(each, tl.int64)
        x_body = x_ptr + body_start(row, x_row_stride, UNIT, SHIFT)
        head = head_length(row, x_row_stride, SHIFT)
        body = (length - head) // SHIFT * SHIFT
        inside = lane < in_units(tl.minimum(slice_length, body - first), SHIFT if SHIFT > 1 else UNIT)
        x_slice = x_body + first * x_column_stride
        x = tl.load(x_slice + lane * x_column_stride, mask=inside, other=-float("inf"))
        if AHEAD > 0:
            coming = tl.where(row < rows - groups, row + groups, row)  # the last row is there already
            ahead = body_start(coming, x_row_stride, UNIT, SHIFT) + first
            prefetch(x_ptr + ahead, tl.minimum(slice_length, columns - SHIFT - first), BLOCK, AHEAD)
        own_peak = tl.max(x.to(COMPUTE), axis=0)
        if SHIFT > 1:
            at_edge = edge_lane < tl.where(split == splits - 1, length - body, 0)  # the last program has them, too
            beside = around(edge_lane, head, body, SHIFT).to(INDEX)
            edge = tl.load(x_body + beside, mask=at_edge, other=-float("inf")).to(COMPUTE)
            own_peak = tl.maximum(own_peak, tl.max(edge, axis=0))  # all programs read N a row: MN in all
        own_base = finite_base(own_peak)
        x = read_again(x, SHORT)
        weight = exp(x.to(COMPUTE) - own_base)
        own_total = tl.sum(weight, axis=0)
        if SHIFT > 1:
            edge_weight = exp(edge - own_base)
            own_total += tl.sum(edge_weight, axis=0)
        base, total = finite_base(own_peak), own_total
        turn += 1
        if SPLITS > 1:
            word_ptr = words_of(words_ptr, turn, splits, COMPUTE, KEPT)
            leave_partial(word_ptr, split, splits, own_peak, own_total, before + turn)
            base, total = merge_partials(word_ptr, before + turn, splits, which, other, COMPUTE)  # reads 2S: 2MS² in all
        scale = tl.exp(own_peak - base) * reciprocal(total, ZERO_EMPTY)
        if SHORT:
            weight = exp(read_again(x, SHORT).to(COMPUTE) - own_base)
        out_body = out_ptr + body_start(row, out_row_stride, UNIT, SHIFT)
        to = out_body + first * out_column_stride + lane * out_column_stride
        tl.store(to, (weight * scale).to(out_ptr.dtype.element_ty), mask=inside)
        if SHIFT > 1:  # all programs write N a row: MN in all
            tl.store(out_body + beside, (edge_weight * scale).to(out_ptr.dtype.element_ty), mask=at_edge)
    if SPLITS > 1:
        count_turns(words_ptr, split, before + turn)


def softmax(
    x: torch.Tensor,
    out: torch.Tensor,
    *,
    empty_row: EmptyRow = "zero",
    block: int | None = None,
    warps: int | None = None,
    programs: int | None = None,
    ahead: int = 128,
    short: bool = False,
) -> None:
    """Softmax of each row of ``x`` (M×N) into ``out`` (M×N). Raises ValueError for longer rows.

    ``block`` is the most that a program holds, a power of two from 256. So many ``programs`` are resident on every
    multiprocessor, and get no more registers than that allows. ``ahead``: bytes that one prefetch is taken to bring,
    0 for no prefetches. ``short`` keeps 16-bit numbers as they are, as in ``pieces``.
    """
    given = operands(x, out, empty_row, LONGEST_ROW)
    if given.empty:
        return
    alone = x.device.type == "cpu"
    if alone:
        block = max(16, triton.next_power_of_2(given.columns))
    itemsize = COMPUTE_DTYPE[x.dtype].itemsize
    block = block or tuning.slice_block(x.device, given.rows, given.columns, itemsize)
    warps = warps or tuning.warps(block)
    programs = programs or tuning.programs(warps)
    shared = plan(given.rows, given.columns, block, tuning.multiprocessors(x.device) * programs)
    each = group_words(shared.splits, itemsize, TURNS)
    softmax_cooperative[(shared.groups * shared.splits,)](
        *given.positional,
        given.rows,
        words(x.device, shared.waiting_groups, each),
        each,
        shared.splits,
        shared.length,
        **given.constants,
        SHIFT=shift(given, x, out),
        BLOCK=block,
        SPLITS=triton.next_power_of_2(shared.splits),
        AHEAD=0 if alone or x.stride(1) != 1 else ahead // x.itemsize,
        SHORT=bool(short) and x.itemsize == 2 and not alone,
        KEPT=TURNS,
        num_warps=warps,
        maxnreg=tuning.registers(warps * programs),
        launch_cooperative_grid=shared.splits > 1,
    )
