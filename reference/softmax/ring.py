"""Rung 9: rows in shared memory, the next ones arriving while this one is written: MN elements read, MN written.

Registers hold a row while its sum is waited for, and then nothing of the program's moves. Here a program asks for rows
long before it needs them: a ring of slots in shared memory takes them, a chunk of a row to a slot, and a slot is asked
to take another chunk as soon as its own has been written. So memory has always something to do, with one program on a
multiprocessor as well as with four.

A row too long for the ring is shared by S programs, as in rung 8. None of them waits at once: a program leaves the
maximum and the sum of its slice, goes on to its slice of the next row, and comes back to write the first when the
others have long left theirs. The ring holds two rows for that, and what is to come.

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
from reference.softmax.arithmetic import exp, finite_base, reciprocal
from reference.softmax.hints import in_units
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

copy_to_shared = getattr(async_copy, "async_load", None) or async_copy.async_copy_global_to_shared
"""Its name up to Triton 3.7 and from 3.8 on."""

TURNS = 4
"""Turns whose maxima and sums are kept. A program that leaves those of turn t + 4 has waited for turn t + 2, in which
nobody leaves any before it has read those of turn t."""

MOST_SLOTS = 63
"""Copies under way that a thread can tell apart: the instruction that waits for all but n of them takes no larger n."""


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
    ring,
    chunk,
    lane,
    x_ptr,
    row_stride,
    column_stride,
    length,
    rows,
    group,
    groups,
    split,
    splits,
    slice_length,
    UNIT: gl.constexpr,
    SHIFT: gl.constexpr,
    CHUNK: gl.constexpr,
    CHUNKS: gl.constexpr,
    SLOTS: gl.constexpr,
    COPIED: gl.constexpr,
):
    """Ask for a chunk, counted over all of the program's rows, to be brought into its slot; past the last for none."""
    row = row_of(group, groups, chunk // CHUNKS)
    _, _, own, _ = share(row, row_stride, length, split, splits, slice_length, SHIFT)
    offset = chunk % CHUNKS * CHUNK + lane
    inside = offset < in_units(gl.where(row < rows, own, 0), SHIFT if SHIFT > 1 else UNIT)
    first = gl.cast(split, lane.dtype) * in_units(slice_length, 16)
    at = x_ptr + body_start(row, row_stride, UNIT, SHIFT) + (first + offset) * column_stride
    if COPIED:
        copy_to_shared(ring.index(chunk % SLOTS), at, mask=inside)  # reads N a row, all programs together: MN in all
    else:
        ring.index(chunk % SLOTS).store(gl.load(at, mask=inside))
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
    KEPT: gl.constexpr,
):
    CHUNK: gl.constexpr = DEPTH * 32 * WARPS * VECTOR
    LATER: gl.constexpr = 1 if SPLITS > 1 else 0  # turns between the reading of a row and its writing
    OWNED: gl.constexpr = gl.BlockedLayout([1, 1, VECTOR], [1, 32, 1], [1, WARPS, 1], [2, 1, 0])
    BY_THREAD: gl.constexpr = gl.SliceLayout(0, gl.SliceLayout(2, OWNED))
    ONE_BY_ONE: gl.constexpr = gl.BlockedLayout([1], [32], [WARPS], [0])
    HALVES: gl.constexpr = COMPUTE.primitive_bitwidth // 16
    BY_PROGRAM: gl.constexpr = gl.BlockedLayout([HALVES, 1], [1, 32], [1, WARPS], [1, 0])
    split, group = gl.program_id(0) % splits, gl.program_id(0) // splits
    groups = gl.num_programs(0) // splits
    words_ptr += group * words_each
    before = turns_before(words_ptr) if SPLITS > 1 else 0
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
            *(ring, chunk, lane, x_ptr, x_row_stride, x_column_stride, length, rows, group, groups),
            *(split, splits, slice_length, UNIT, SHIFT, CHUNK, CHUNKS, SLOTS, COPIED),
        )
    turns = gl.cast((rows - group + groups - 1) // groups, gl.int32)
    base, total = gl.cast(0.0, COMPUTE), gl.cast(0.0, COMPUTE)
    edge = gl.full([2 * SHIFT], -float("inf"), COMPUTE, ONE_BY_ONE)
    for turn in range(turns + LATER):
        edge_before = edge
        if turn < turns:
            row = row_of(group, groups, turn)
            head, body, own, edges = share(row, x_row_stride, length, split, splits, slice_length, SHIFT)
            beside = around(edge_lane, head, body, SHIFT).to(INDEX)
            x_body = x_ptr + body_start(row, x_row_stride, UNIT, SHIFT)
            edge = gl.load(x_body + beside, mask=edge_lane < edges, other=-float("inf")).to(COMPUTE)
            peaks = gl.full([32 * WARPS], -float("inf"), COMPUTE, BY_THREAD)
            totals = gl.full([32 * WARPS], 0.0, COMPUTE, BY_THREAD)
            for piece in gl.static_range(CHUNKS):
                async_copy.wait_group(SLOTS - 1 - piece - LATER * CHUNKS)
                x = ring.index((turn * CHUNKS + piece) % SLOTS).load(OWNED).to(COMPUTE)
                x = gl.where(piece * CHUNK + lane < own, x, -float("inf"))
                peaks, totals = absorb_by_thread(peaks, totals, x)
            peak = gl.maximum(gl.max(peaks, axis=0), gl.max(edge, axis=0))
            base = finite_base(peak)
            total = gl.sum(totals * exp(peaks - base), axis=0) + gl.sum(exp(edge - base), axis=0)
            if SPLITS > 1:
                word_ptr = words_of(words_ptr, turn, splits, COMPUTE, KEPT)
                leave_partial(word_ptr, split, splits, peak, total, before + turn + 1)
        if turn >= LATER:
            now = turn - LATER
            row = row_of(group, groups, now)
            head, body, own, edges = share(row, x_row_stride, length, split, splits, slice_length, SHIFT)
            beside = around(edge_lane, head, body, SHIFT).to(INDEX)
            out_body = out_ptr + body_start(row, out_row_stride, UNIT, SHIFT)
            if SPLITS > 1:
                word_ptr = words_of(words_ptr, now, splits, COMPUTE, KEPT)
                # reads 2S: 2MS² in all
                base, total = merge_partials(word_ptr, before + now + 1, splits, which, other, COMPUTE)
            scale = reciprocal(total, ZERO_EMPTY)
            for piece in gl.static_range(CHUNKS):
                chunk = now * CHUNKS + piece
                x = ring.index(chunk % SLOTS).load(OWNED).to(COMPUTE)
                y = (exp(x - base) * scale).to(out_ptr.dtype.element_ty)
                offset = piece * CHUNK + lane
                to = out_body + (first + offset) * out_column_stride
                gl.store(to, y, mask=offset < in_units(own, SHIFT if SHIFT > 1 else UNIT))  # writes N a row: MN in all
                request(
                    *(ring, chunk + SLOTS, lane, x_ptr, x_row_stride, x_column_stride, length, rows, group, groups),
                    *(split, splits, slice_length, UNIT, SHIFT, CHUNK, CHUNKS, SLOTS, COPIED),
                )
            y = (exp((edge_before if LATER else edge) - base) * scale).to(out_ptr.dtype.element_ty)
            gl.store(out_body + beside, y, mask=edge_lane < edges)
    async_copy.wait_group(0)
    if SPLITS > 1:
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
) -> None:
    """Softmax of each row of ``x`` (M×N) into ``out`` (M×N). Raises ValueError for longer rows.

    A program has at most ``slice_bytes`` of a row; if they are not given, a whole row if three quarters of its ring
    hold it, else two fifths of what the ring holds, and less where programs would be left over. A chunk is ``depth``
    times 16 bytes a thread. The ring is as large as so many ``programs`` on every multiprocessor allow.
    """
    given = operands(x, out, empty_row, LONGEST_ROW)
    if given.empty:
        return
    vector = WIDEST_LOAD // x.itemsize
    cut = shift(given, x, out)
    body = given.columns // cut * cut  # the longest that a row can have
    chunk = depth * 32 * warps * vector
    slots = min(tuning.ring_bytes(x.device, programs) // (chunk * x.itemsize), MOST_SLOTS)
    least = None
    if slice_bytes is not None:
        longest = slice_bytes // x.itemsize
    elif x.device.type == "cpu":
        longest, slots = body, max(slots, triton.cdiv(body, chunk) + 1)
    else:
        whole = body <= max(1, slots * 3 // 4) * chunk
        longest, least = body if whole else max(1, slots * 2 // 5) * chunk, chunk
    shared = plan(given.rows, body, longest, tuning.multiprocessors(x.device) * programs, least=least)
    chunks = triton.cdiv(shared.length, chunk)
    if slots < (chunks if shared.splits == 1 else 2 * chunks):
        raise ValueError(f"a ring of {slots} chunks is too small for slices of {chunks}")
    each = group_words(shared.splits, COMPUTE_DTYPE[x.dtype].itemsize, TURNS)
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
        KEPT=TURNS,
        num_warps=warps,
        maxnreg=tuning.registers(warps * programs),
        launch_cooperative_grid=shared.splits > 1,
    )


def _can_be_copied(given: Operands, x: torch.Tensor, cut: int) -> bool:
    """Whether rows consist of whole vectors at multiples of 16 bytes, which is what is copied without a register."""
    whole = cut > 1 or given.constants["UNIT"] == WIDEST_LOAD // x.itemsize
    return x.stride(1) == 1 and x.data_ptr() % WIDEST_LOAD == 0 and whole
