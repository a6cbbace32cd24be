"""Rung 8: rows in shared memory, the next ones arriving while this one is written: MN elements read, MN written.

Registers hold a row while its sum is waited for, and then nothing of the program's moves. Here a program asks for rows
long before it needs them: a ring of slots in shared memory takes them, a chunk of a row to a slot, and a slot is asked
to take another chunk as soon as its own has been written. So memory has always something to do, with one program on a
multiprocessor as well as with four.

A row too long for the ring is shared by S programs. None of them waits at once: a program leaves the maximum and the
sum of its slice, goes on to its slices of the next rows, and comes back to write the first when the others have long
left theirs. The ring holds two rows or three for that, and what is to come. All programs have to be resident at once:
the grid has as many as the GPU holds, in groups of S that take one row after the other, and it is launched as
cooperative, so that a GPU that cannot hold it refuses instead of hanging.

In Gluon, Triton's lower level, where a kernel says what lies in shared memory and which thread has which element. It
has no interpreter. N ≤ 2^20, if S programs are resident at once. On the host a program takes a whole row.
"""

from __future__ import annotations

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

from reference.softmax import tuning
from reference.softmax.arguments import COMPUTE_DTYPE, WIDEST_LOAD, EmptyRow, Operands, operands
from reference.softmax.arithmetic import exp, finite_base, reciprocal, scaled_exp
from reference.softmax.hints import in_units
from reference.softmax.meeting import (
    count_turns,
    group_words,
    leave_partial,
    merge_partials,
    plan,
    read_words,
    turns_before,
    words,
    words_of,
)
from reference.softmax.vectors import around, body_start, head_length, shift

LONGEST_ROW = 1 << 20

copy_to_shared = getattr(async_copy, "async_load", None) or async_copy.async_copy_global_to_shared
"""Its name up to Triton 3.7 and from 3.8 on."""


MOST_SLOTS = 63
"""Copies under way that a thread can tell apart: the instruction that waits for all but n of them takes no larger n."""


def turns_kept(later: int) -> int:
    """Turns whose maxima and sums are kept.

    A program that leaves those of turn t has waited for turn t - 1 - later: all have left theirs of that one by then,
    and before that they have read those of turn t - 2 - 2·later.
    """
    return 2 + 2 * later


@gluon.jit
def row_of(group, groups, turn):
    """The row that a group of programs has in its turn."""
    return gl.cast(group, gl.int64) + gl.cast(turn, gl.int64) * groups


@gluon.jit
def share(row, row_stride, length, split, splits, slice_length, SHIFT: gl.constexpr):
    """Lengths of a row's head and body, of the program's slice of the body, and of what it has besides."""
    head = head_length(row, row_stride, SHIFT)
    body = (length - head) // SHIFT * SHIFT
    own = gl.minimum(slice_length, body - split * slice_length)
    return head, body, own, gl.where(split == splits - 1, length - body, 0)  # the last program has head and tail, too


@gluon.jit
def request(
    slot,
    row,
    piece,
    lane,
    x_ptr,
    row_stride,
    column_stride,
    length,
    rows,
    split,
    splits,
    slice_length,
    UNIT: gl.constexpr,
    SHIFT: gl.constexpr,
    CHUNK: gl.constexpr,
    COPIED: gl.constexpr,
):
    """Ask for a chunk of one's slice of a row to be brought into a slot; past the last row for none."""
    _, _, own, _ = share(row, row_stride, length, split, splits, slice_length, SHIFT)
    offset = piece * CHUNK + lane
    inside = offset < in_units(gl.where(row < rows, own, 0), SHIFT if SHIFT > 1 else UNIT)
    first = gl.cast(split, lane.dtype) * in_units(slice_length, 16)
    at = x_ptr + body_start(row, row_stride, UNIT, SHIFT) + (first + offset) * column_stride
    if COPIED:
        copy_to_shared(slot, at, mask=inside)  # reads N a row, all programs together: MN in all
    else:
        slot.store(gl.load(at, mask=inside))
    async_copy.commit_group()


@gluon.jit
def absorb_by_thread(peaks, totals, x):
    """Each thread's running maximum and sum of exp(x - maximum) after one more chunk."""
    higher = gl.maximum(peaks, gl.max(gl.max(x, axis=2), axis=0))
    base = finite_base(higher)
    weight = exp(x - base[None, :, None])
    return higher, totals * exp(peaks - base) + gl.sum(gl.sum(weight, axis=2), axis=0)


@gluon.jit(do_not_specialize=["splits", "rows"])
def softmax_ring(
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
    INDEX: gl.constexpr,
    COMPUTE: gl.constexpr,
    UNIT: gl.constexpr,
    ZERO_EMPTY: gl.constexpr,
    SHIFT: gl.constexpr,
    DEPTH: gl.constexpr,
    WARPS: gl.constexpr,
    VECTOR: gl.constexpr,
    CHUNKS: gl.constexpr,
    SLOTS: gl.constexpr,
    COPIED: gl.constexpr,
    SPLITS: gl.constexpr,
    LATER: gl.constexpr,
    KEPT: gl.constexpr,
):
    CHUNK: gl.constexpr = DEPTH * 32 * WARPS * VECTOR
    NARROW: gl.constexpr = x_ptr.dtype.element_ty.primitive_bitwidth == 16
    OWNED: gl.constexpr = gl.BlockedLayout([1, 1, VECTOR], [1, 32, 1], [1, WARPS, 1], [2, 1, 0])
    BY_THREAD: gl.constexpr = gl.SliceLayout(0, gl.SliceLayout(2, OWNED))
    ONE_BY_ONE: gl.constexpr = gl.BlockedLayout([1], [32], [WARPS], [0])
    HALVES: gl.constexpr = COMPUTE.primitive_bitwidth // 16
    BY_PROGRAM: gl.constexpr = gl.BlockedLayout([HALVES, 1], [1, 32], [1, WARPS], [1, 0])
    split, group = gl.program_id(0) % splits, gl.program_id(0) // splits
    groups = gl.num_programs(0) // splits
    words_ptr += group * words_each
    before = turns_before(words_ptr) if LATER else 0
    deep = gl.arange(0, DEPTH, gl.SliceLayout(1, gl.SliceLayout(2, OWNED)))[:, None, None]
    thread = gl.arange(0, 32 * WARPS, BY_THREAD)[None, :, None]
    element = gl.arange(0, VECTOR, gl.SliceLayout(0, gl.SliceLayout(1, OWNED)))[None, None, :]
    lane = (deep * (32 * WARPS * VECTOR) + thread * VECTOR + element).to(INDEX)
    edge_lane = gl.arange(0, 2 * SHIFT, ONE_BY_ONE)
    which = gl.arange(0, HALVES, gl.SliceLayout(1, BY_PROGRAM))[:, None]
    other = gl.arange(0, SPLITS, gl.SliceLayout(0, BY_PROGRAM))[None, :]
    first = gl.cast(split, INDEX) * in_units(slice_length, 16)
    length = in_units(columns, UNIT)
    ring = gl.allocate_shared_memory(
        x_ptr.dtype.element_ty, [SLOTS, DEPTH, 32 * WARPS, VECTOR], gl.SwizzledSharedLayout(1, 1, 1, [2, 1, 0])
    )
    for chunk in range(SLOTS):
        request(
            *(ring.index(chunk), row_of(group, groups, chunk // CHUNKS), chunk % CHUNKS, lane, x_ptr, x_row_stride),
            *(x_column_stride, length, rows, split, splits, slice_length, UNIT, SHIFT, CHUNK, COPIED),
        )
    turns = gl.cast((rows - group + groups - 1) // groups, gl.int32)
    base, total = gl.cast(0.0, COMPUTE), gl.cast(0.0, COMPUTE)
    edge = gl.full([2 * SHIFT], -float("inf"), COMPUTE, ONE_BY_ONE)
    for turn in range(turns + LATER):
        now = turn - LATER  # the turn whose row is written
        if LATER:
            # Most have left theirs long ago, and what they left arrives while this one reads.
            word_ptr = words_of(words_ptr, gl.maximum(now, 0), splits, COMPUTE, KEPT)
            word = read_words(word_ptr, splits, which, other)
        if turn < turns:
            row = row_of(group, groups, turn)
            head, body, own, edges = share(row, x_row_stride, length, split, splits, slice_length, SHIFT)
            if SHIFT > 1:
                beside = around(edge_lane, head, body, SHIFT).to(INDEX)
                x_body = x_ptr + body_start(row, x_row_stride, UNIT, SHIFT)
                edge = gl.load(x_body + beside, mask=edge_lane < edges, other=-float("inf")).to(COMPUTE)
            peaks = gl.full([32 * WARPS], -float("inf"), COMPUTE, BY_THREAD)
            totals = gl.full([32 * WARPS], 0.0, COMPUTE, BY_THREAD)
            for piece in gl.static_range(CHUNKS):
                async_copy.wait_group(SLOTS - 1 - piece - LATER * CHUNKS)
                x = ring.index((turn * CHUNKS + piece) % SLOTS).load(OWNED).to(COMPUTE)
                if (piece + 1) * CHUNK > own:
                    x = gl.where(piece * CHUNK + lane < own, x, -float("inf"))
                peaks, totals = absorb_by_thread(peaks, totals, x)
            peak = gl.max(peaks, axis=0)
            if SHIFT > 1:
                peak = gl.maximum(peak, gl.max(edge, axis=0))
            base = finite_base(peak)
            total = gl.sum(totals * exp(peaks - base), axis=0)
            if SHIFT > 1:
                total += gl.sum(exp(edge - base), axis=0)
            if LATER:
                own_ptr = words_of(words_ptr, turn, splits, COMPUTE, KEPT)
                leave_partial(own_ptr, split, splits, peak, total, before + turn + 1)
        if turn >= LATER:
            row = row_of(group, groups, now)
            head, body, own, edges = share(row, x_row_stride, length, split, splits, slice_length, SHIFT)
            out_body = out_ptr + body_start(row, out_row_stride, UNIT, SHIFT)
            if LATER:
                # reads 2S: 2MS² in all
                base, total = merge_partials(word, word_ptr, before + now + 1, splits, which, other, COMPUTE)
            if SHIFT > 1:
                beside = around(edge_lane, head, body, SHIFT).to(INDEX)
                if LATER:
                    x_body = x_ptr + body_start(row, x_row_stride, UNIT, SHIFT)
                    edge = gl.load(x_body + beside, mask=edge_lane < edges, other=-float("inf")).to(COMPUTE)
            scale = reciprocal(total, ZERO_EMPTY)
            power = gl.log2(scale)
            for piece in gl.static_range(CHUNKS):
                slot = ring.index((now * CHUNKS + piece) % SLOTS)
                x = slot.load(OWNED).to(COMPUTE)
                y = scaled_exp(x - base, power) if NARROW else exp(x - base) * scale
                offset = piece * CHUNK + lane
                to = out_body + (first + offset) * out_column_stride
                inside = offset < in_units(own, SHIFT if SHIFT > 1 else UNIT)
                gl.store(to, y.to(out_ptr.dtype.element_ty), mask=inside)  # writes N a row: MN in all
                request(
                    *(slot, row_of(group, groups, now + (piece + SLOTS) // CHUNKS), (piece + SLOTS) % CHUNKS, lane),
                    *(x_ptr, x_row_stride, x_column_stride, length, rows, split, splits, slice_length),
                    *(UNIT, SHIFT, CHUNK, COPIED),
                )
            if SHIFT > 1:
                y = (exp(edge - base) * scale).to(out_ptr.dtype.element_ty)
                gl.store(out_body + beside, y, mask=edge_lane < edges)
    async_copy.wait_group(0)
    if LATER:
        count_turns(words_ptr, split, before + turns)


def softmax(
    x: torch.Tensor,
    out: torch.Tensor,
    *,
    empty_row: EmptyRow = "zero",
    slice_bytes: int | None = None,
    depth: int = 2,
    warps: int = 8,
    programs: int = 2,
    later: int = 1,
) -> None:
    """Softmax of each row of ``x`` (M×N) into ``out`` (M×N). Raises ValueError for longer rows.

    A program has at most ``slice_bytes`` of a row, and less where programs would be left over; if they are not given, a
    whole row if three quarters of its ring hold it, else two fifths of what the ring holds. A chunk is ``depth`` times
    16 bytes a thread. The ring is as large as so many ``programs`` on every multiprocessor allow. A row that is shared
    is written ``later`` turns after it has been read, 1 or more.
    """
    given = operands(x, out, empty_row, LONGEST_ROW)
    if given.empty:
        return
    vector = WIDEST_LOAD // x.itemsize
    cut = shift(given, x, out)
    body = given.columns // cut * cut  # the longest that a row can have
    chunk = tuning.chunk_bytes(depth, warps) // x.itemsize
    slots = min(tuning.ring_bytes(x.device, programs) // tuning.chunk_bytes(depth, warps), MOST_SLOTS)
    least = chunk
    if slice_bytes is not None:
        longest = slice_bytes // x.itemsize
    elif x.device.type == "cpu":
        longest, least, slots = body, body, max(slots, triton.cdiv(body, chunk) + 1)
    else:
        longest = body if body <= max(1, slots * 3 // 4) * chunk else max(1, slots * 2 // 5) * chunk
    shared = plan(given.rows, body, longest, tuning.multiprocessors(x.device) * programs, least)
    chunks = triton.cdiv(shared.length, chunk)
    later = later if shared.splits > 1 else 0
    if slots < (1 + later) * chunks:
        raise ValueError(f"a ring of {slots} chunks is too small for slices of {chunks}")
    each = group_words(shared.splits, COMPUTE_DTYPE[x.dtype].itemsize, turns_kept(later))
    softmax_ring[(shared.groups * shared.splits,)](
        *given.positional,
        given.rows,
        words(x.device, shared.waiting_groups, each),
        each,
        shared.splits,
        shared.length,
        **given.constants,
        SHIFT=cut,
        DEPTH=depth,
        WARPS=warps,
        VECTOR=vector,
        CHUNKS=chunks,
        SLOTS=slots,
        COPIED=_can_be_copied(given, x, cut),
        SPLITS=triton.next_power_of_2(shared.splits),
        LATER=later,
        KEPT=turns_kept(later),
        num_warps=warps,
        maxnreg=tuning.registers(warps * programs),
        launch_cooperative_grid=shared.splits > 1,
    )


def _can_be_copied(given: Operands, x: torch.Tensor, cut: int) -> bool:
    """Whether rows consist of whole vectors at multiples of 16 bytes, which is what is copied without a register."""
    whole = cut > 1 or given.constants["UNIT"] == WIDEST_LOAD // x.itemsize
    return x.stride(1) == 1 and x.data_ptr() % WIDEST_LOAD == 0 and whole
