"""Rung 6: fused, a row of any length up to 65536 without padding: MN elements read, MN written.

A block is a power of two, so that a row of 8320 numbers takes a block of 16384 and half of the program's threads and
registers hold nothing. Here a row is cut into blocks of LANES elements, 16 bytes for each thread, that are stacked in
pieces of 1, 2, 4, … : 8320 = (4 · 2048) + 128, or 12672 = (4 + 2) · 2048 + 384. The pieces need no mask, the tail does.
Each thread first reduces what it holds, in all pieces alike, so that threads meet twice a row and not twice a piece.

If rows begin at addresses that are no multiples of 16 bytes, the blocks begin at the first such address in the row, and
a second, narrow load takes the few elements before and behind them.

N ≤ 65536; M < 2^31, the size of a grid.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from reference.softmax import tuning
from reference.softmax.arguments import WIDEST_LOAD, EmptyRow, operands
from reference.softmax.arithmetic import exp, finite_base, reciprocal
from reference.softmax.hints import in_units, read_again
from reference.softmax.vectors import around, body_start, head_length, shift

LONGEST_ROW = 65536


@triton.jit
def softmax_pieces(
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
    SHIFT: tl.constexpr,
    LANES: tl.constexpr,
    PIECES: tl.constexpr,
    BODY: tl.constexpr,
    TAIL: tl.constexpr,
    EVICTION: tl.constexpr,
    SHORT: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    x_body = x_ptr + body_start(row, x_row_stride, UNIT, SHIFT)
    out_body = out_ptr + body_start(row, out_row_stride, UNIT, SHIFT)
    length = in_units(columns, UNIT)
    head = head_length(row, x_row_stride, SHIFT)
    body = (length - head) // SHIFT * SHIFT if SHIFT > 1 else length
    lane = tl.arange(0, LANES)
    peaks, totals = tl.full([LANES], -float("inf"), COMPUTE), tl.full([LANES], 0.0, COMPUTE)
    if TAIL:
        behind = (BODY + lane).to(INDEX)
        inside = behind < body
        tail = tl.load(x_body + behind * x_column_stride, mask=inside, other=-float("inf"), eviction_policy=EVICTION)
        tail = tail.to(COMPUTE)  # reads N a row, together with the pieces: MN in all
        peaks = tail
    parts = ()
    start = 0
    for piece in tl.static_range(len(PIECES)):
        column = (start + tl.arange(0, PIECES[piece])[:, None] * LANES + lane[None, :]).to(INDEX)
        x = tl.load(x_body + column * x_column_stride, eviction_policy=EVICTION)
        peaks = tl.maximum(peaks, tl.max(x.to(COMPUTE), axis=0))
        parts = parts + (x,)  # type: ignore[assignment]  # noqa: RUF005  # Triton knows no star
        start += PIECES[piece] * LANES
    peak = tl.max(peaks, axis=0)
    if SHIFT > 1:
        edge_lane = tl.arange(0, 2 * SHIFT)
        beside = around(edge_lane, head, body, SHIFT).to(INDEX)
        at_edge = edge_lane < length - body
        edge = tl.load(x_body + beside * x_column_stride, mask=at_edge, other=-float("inf")).to(COMPUTE)
        peak = tl.maximum(peak, tl.max(edge, axis=0))
    base = finite_base(peak)
    if TAIL:
        tail_weight = exp(tail - base)
        totals = tail_weight
    kept = ()
    for part in tl.static_range(len(PIECES)):
        x = read_again(parts[part], SHORT)
        weight = exp(x.to(COMPUTE) - base)
        totals += tl.sum(weight, axis=0)
        kept = kept + ((x if SHORT else weight),)  # type: ignore[assignment]  # noqa: RUF005
    total = tl.sum(totals, axis=0)
    if SHIFT > 1:
        edge_weight = exp(edge - base)
        total += tl.sum(edge_weight, axis=0)
    scale = reciprocal(total, ZERO_EMPTY)
    start = 0
    for piece in tl.static_range(len(PIECES)):
        column = (start + tl.arange(0, PIECES[piece])[:, None] * LANES + lane[None, :]).to(INDEX)
        weight = kept[piece]
        if SHORT:
            weight = exp(read_again(weight, SHORT).to(COMPUTE) - base)
        y = (weight * scale).to(out_ptr.dtype.element_ty)
        at = out_body + column * out_column_stride
        tl.store(at, y, eviction_policy=EVICTION)  # writes N a row, together with the tail: MN in all
        start += PIECES[piece] * LANES
    if TAIL:
        y = (tail_weight * scale).to(out_ptr.dtype.element_ty)
        tl.store(out_body + behind * out_column_stride, y, mask=inside, eviction_policy=EVICTION)
    if SHIFT > 1:
        y = (edge_weight * scale).to(out_ptr.dtype.element_ty)
        tl.store(out_body + beside * out_column_stride, y, mask=at_edge)


def cut(columns: int, lanes: int, vector: int) -> tuple[int, ...]:
    """How many blocks of ``lanes`` elements each piece of a row has: powers of two, none twice, the largest first.

    They are as many as a row of ``columns`` holds from its first multiple of ``vector`` on, wherever it begins.
    """
    blocks = (columns - (vector - 1)) // vector * vector // lanes
    return tuple(1 << bit for bit in reversed(range(blocks.bit_length())) if blocks >> bit & 1)


def softmax(
    x: torch.Tensor,
    out: torch.Tensor,
    *,
    empty_row: EmptyRow = "zero",
    warps: int | None = None,
    stream: bool = False,
    short: bool = False,
    programs: int | None = None,
) -> None:
    """Softmax of each row of ``x`` (M×N) into ``out`` (M×N). Raises ValueError for longer rows.

    ``stream`` asks the L2 cache to let go of what has been read and written first. ``short`` keeps a row of 16-bit
    numbers as they are while it waits for the sum, in half of the registers, and computes its exponentials twice. A
    thread gets no more registers than so many ``programs`` on every multiprocessor allow.
    """
    given = operands(x, out, empty_row, LONGEST_ROW)
    if given.empty:
        return
    warps = warps or tuning.warps(given.columns)
    vector = shift(given, x, out)
    lanes = 32 * warps * (WIDEST_LOAD // x.itemsize)
    pieces = cut(given.columns, lanes, vector)
    softmax_pieces[(given.rows,)](
        *given.positional,
        **given.constants,
        SHIFT=vector,
        LANES=lanes,
        PIECES=pieces,
        BODY=lanes * sum(pieces),
        TAIL=lanes * sum(pieces) < given.columns,
        EVICTION="evict_first" if stream else "",
        SHORT=bool(short) and x.itemsize == 2 and x.device.type != "cpu",
        num_warps=warps,
        maxnreg=tuning.registers(warps * programs) if programs else None,
    )
