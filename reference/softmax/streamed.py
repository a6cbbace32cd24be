"""Rung 9: long rows streamed through twice, each shared by S programs that wait for one another: 2MN elements read, of
which MN come from memory and MN out of the L2 cache, MN written.

Rung 8 holds rows in registers. While its programs wait for one another nothing of theirs moves, and a multiprocessor's
registers hold too little to bridge that. Here a program holds no more than the maximum and the sum of what each thread
has seen, so its slice may be many times as long: it waits seldom, and the loads of the next blocks are under way in
shared memory while it computes. When all maxima and sums are known it reads its slice again, backwards, and writes it.
No more is under way on the whole GPU than the L2 cache holds, so the second reading finds its slice there.

N ≤ 2^20, if S programs are resident at once. On the host a program takes a whole row, as nobody runs beside it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from reference.softmax import tuning
from reference.softmax.arguments import WIDEST_LOAD, EmptyRow, operands
from reference.softmax.arithmetic import finite_base, reciprocal
from reference.softmax.hints import in_units, prefetch
from reference.softmax.meeting import (
    COUNTER_STRIDE,
    arrive,
    counters,
    leave_for_good,
    leave_partial,
    merge_partials,
    partials,
    plan,
    wait_for,
)
from reference.softmax.vectors import around, body_start, head_length, shift

LONGEST_ROW = 1 << 20


@triton.jit
def absorb_lanes(peaks, totals, x):
    """Each lane's running maximum and sum of exp(x - maximum) after one more block, of several elements a lane."""
    higher = tl.maximum(peaks, tl.max(x, axis=0))
    base = finite_base(higher)
    return higher, totals * tl.exp(peaks - base) + tl.sum(tl.exp(x - base[None, :]), axis=0)


@triton.jit(do_not_specialize=["splits", "rows"])
def softmax_streamed(
    x_ptr,
    out_ptr,
    x_row_stride,
    x_column_stride,
    out_row_stride,
    out_column_stride,
    columns,
    rows,
    arrived_ptr,
    partials_ptr,
    splits,
    slice_length,
    INDEX: tl.constexpr,
    COMPUTE: tl.constexpr,
    UNIT: tl.constexpr,
    ZERO_EMPTY: tl.constexpr,
    SHIFT: tl.constexpr,
    DEPTH: tl.constexpr,
    LANES: tl.constexpr,
    SPLITS: tl.constexpr,
    STAGES: tl.constexpr,
    SLICE: tl.constexpr,
    AHEAD: tl.constexpr,
    STRIDE: tl.constexpr,
):
    split, group = tl.program_id(0) % splits, tl.program_id(0) // splits
    groups = tl.num_programs(0) // splits
    arrived_ptr += group * STRIDE
    partials_ptr += group * splits * 4
    column = tl.arange(0, DEPTH)[:, None] * LANES + tl.arange(0, LANES)[None, :]
    edge_lane = tl.arange(0, 2 * SHIFT)
    first = split.to(INDEX) * slice_length // (DEPTH * LANES) * (DEPTH * LANES)  # so it is, and now the compiler knows
    length = in_units(columns, UNIT)
    turn = 0
    for each in range(group, rows, groups):
        row = tl.cast(each, tl.int64)
        x_body = x_ptr + body_start(row, x_row_stride, UNIT, SHIFT)
        out_body = out_ptr + body_start(row, out_row_stride, UNIT, SHIFT)
        head = head_length(row, x_row_stride, SHIFT)
        body = (length - head) // SHIFT * SHIFT
        own = tl.maximum(tl.minimum(slice_length, body - first), 0)
        whole = own // (DEPTH * LANES)
        left = own - whole * (DEPTH * LANES)
        behind = first + tl.cast(whole, INDEX) * (DEPTH * LANES) + column
        inside = column < in_units(left, SHIFT if SHIFT > 1 else UNIT)
        peaks, totals = tl.full([LANES], -float("inf"), COMPUTE), tl.full([LANES], 0.0, COMPUTE)
        for block in tl.range(whole, num_stages=STAGES):
            at = x_body + (first + tl.cast(block, INDEX) * (DEPTH * LANES) + column) * x_column_stride
            x = tl.load(at, eviction_policy="evict_last")  # reads N a row, all programs together: MN in all
            peaks, totals = absorb_lanes(peaks, totals, x.to(COMPUTE))
        if left > 0:
            x = tl.load(x_body + behind * x_column_stride, mask=inside, other=-float("inf"))
            peaks, totals = absorb_lanes(peaks, totals, x.to(COMPUTE))
        if AHEAD > 0:
            coming = tl.where(row < rows - groups, row + groups, row)  # the last row is there already
            ahead = body_start(coming, x_row_stride, UNIT, SHIFT) + first
            prefetch(x_ptr + ahead, tl.maximum(tl.minimum(slice_length, columns - SHIFT - first), 1), SLICE, AHEAD)
        own_peak = tl.max(peaks, axis=0)
        if SHIFT > 1:
            at_edge = edge_lane < tl.where(split == splits - 1, length - body, 0)  # the last program has them, too
            beside = around(edge_lane, head, body, SHIFT).to(INDEX)
            edge = tl.load(x_body + beside, mask=at_edge, other=-float("inf")).to(COMPUTE)
            own_peak = tl.maximum(own_peak, tl.max(edge, axis=0))
        base = finite_base(own_peak)
        total = tl.sum(totals * tl.exp(peaks - base), axis=0)
        if SHIFT > 1:
            total += tl.sum(tl.exp(edge - base), axis=0)
        if SPLITS > 1:
            partial_ptr = partials_ptr + turn % 2 * splits * 2
            leave_partial(partial_ptr, split, own_peak, total)
            turn += 1
            wait_for(arrived_ptr, arrive(arrived_ptr), turn * splits)
            base, total = merge_partials(partial_ptr, splits, COMPUTE, SPLITS)
        scale = reciprocal(total, ZERO_EMPTY)
        if left > 0:
            x = tl.load(x_body + behind * x_column_stride, mask=inside, other=-float("inf"))
            y = (tl.exp(x.to(COMPUTE) - base) * scale).to(out_ptr.dtype.element_ty)
            tl.store(out_body + behind * out_column_stride, y, mask=inside, eviction_policy="evict_first")
        for done in tl.range(whole, num_stages=STAGES):
            # Backwards: the end of the slice, read last, is the likeliest to be still in a cache.
            offset = first + tl.cast(whole - 1 - done, INDEX) * (DEPTH * LANES) + column
            x = tl.load(x_body + offset * x_column_stride, eviction_policy="evict_first")  # reads N a row: 2MN
            y = (tl.exp(x.to(COMPUTE) - base) * scale).to(out_ptr.dtype.element_ty)
            to = out_body + offset * out_column_stride
            tl.store(to, y, eviction_policy="evict_first")  # writes N a row, all programs together: MN in all
        if SHIFT > 1:
            edge = tl.load(x_body + beside, mask=at_edge, other=-float("inf")).to(COMPUTE)
            y = (tl.exp(edge - base) * scale).to(out_ptr.dtype.element_ty)
            tl.store(out_body + beside, y, mask=at_edge)
    if SPLITS > 1:
        leave_for_good(arrived_ptr, (turn + 1) * splits)


def softmax(
    x: torch.Tensor,
    out: torch.Tensor,
    *,
    empty_row: EmptyRow = "zero",
    slice_bytes: int | None = None,
    depth: int = 4,
    warps: int = 8,
    programs: int = 2,
    stages: int = 3,
    ahead: int = 0,
) -> None:
    """Softmax of each row of ``x`` (M×N) into ``out`` (M×N). Raises ValueError for longer rows.

    A program reads about ``slice_bytes`` of a row, ``depth`` times 16 bytes a thread at a time, with ``stages - 1``
    such blocks under way. So many ``programs`` are resident on every multiprocessor. ``ahead``: bytes that one prefetch
    of the next row's slice is taken to bring, 0 for no prefetches.
    """
    given = operands(x, out, empty_row, LONGEST_ROW)
    if given.empty:
        return
    lanes = 32 * warps * (WIDEST_LOAD // x.itemsize)
    if x.device.type == "cpu":
        longest = given.columns
    else:
        nbytes = given.rows * given.columns * x.itemsize
        longest = max(1, (slice_bytes or tuning.streamed_bytes(x.device, nbytes, programs)) // x.itemsize)
    resident = tuning.multiprocessors(x.device) * programs
    shared = plan(given.rows, given.columns, longest, resident, unit=depth * lanes)
    softmax_streamed[(shared.groups * shared.splits,)](
        *given.positional,
        given.rows,
        counters(x.device, shared.waiting_groups),
        partials(x.device, shared),
        shared.splits,
        shared.length,
        **given.constants,
        SHIFT=shift(given, x, out),
        DEPTH=depth,
        LANES=lanes,
        SPLITS=triton.next_power_of_2(shared.splits),
        STAGES=stages,
        SLICE=triton.next_power_of_2(shared.length),
        AHEAD=0 if x.device.type == "cpu" or x.stride(1) != 1 else ahead // x.itemsize,
        STRIDE=COUNTER_STRIDE,
        num_warps=warps,
        maxnreg=tuning.registers(warps * programs),
        launch_cooperative_grid=shared.splits > 1,
    )
