"""Rung 6: fused, a row of any length up to 65536 without padding: MN elements read, MN written.

A block is a power of two, so that a row of 8320 numbers takes a block of 16384 and half of the program's threads and
registers hold nothing. Here a row is cut into up to four whole blocks, 8320 = 8192 + 128, or 12672 = 8192 + 4096 +
512 (masked), each in registers of its own. The blocks need no mask. If rows begin at addresses that are no multiples
of 16 bytes, the blocks begin at the first such address in the row, and the masked rest is what lies before and behind.

N ≤ 65536; M < 2^31, the size of a grid.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from reference.softmax import tuning
from reference.softmax.arguments import EmptyRow, operands
from reference.softmax.arithmetic import finite_base, in_units, reciprocal
from reference.softmax.vectors import around, body_start, head_length, shift

LONGEST_ROW = 65536
MOST_PIECES = 4


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
    PIECES: tl.constexpr,
    BODY: tl.constexpr,
    REST: tl.constexpr,
    EVICTION: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    x_body = x_ptr + body_start(row, x_row_stride, UNIT, SHIFT)
    out_body = out_ptr + body_start(row, out_row_stride, UNIT, SHIFT)
    lane = tl.arange(0, REST)
    beside = around(lane, head_length(row, x_row_stride, SHIFT), BODY, SHIFT).to(INDEX)
    inside = lane < in_units(columns, UNIT) - BODY
    rest = tl.load(x_body + beside * x_column_stride, mask=inside, other=-float("inf"), eviction_policy=EVICTION)
    parts = (rest.to(COMPUTE),)  # reads N a row, together with the pieces: MN in all
    peak = tl.max(parts[0], axis=0)
    start = 0
    for piece in tl.static_range(len(PIECES)):
        column = (start + tl.arange(0, PIECES[piece])).to(INDEX)
        x = tl.load(x_body + column * x_column_stride, eviction_policy=EVICTION).to(COMPUTE)
        peak = tl.maximum(peak, tl.max(x, axis=0))
        parts = parts + (x,)  # type: ignore[assignment]  # noqa: RUF005  # Triton knows no star
        start += PIECES[piece]
    base = finite_base(peak)
    total = tl.full((), 0.0, COMPUTE)
    weights = ()
    for part in tl.static_range(len(parts)):
        weight = tl.exp(parts[part] - base)
        total += tl.sum(weight, axis=0)
        weights = weights + (weight,)  # type: ignore[assignment]  # noqa: RUF005
    scale = reciprocal(total, ZERO_EMPTY)
    y = (weights[0] * scale).to(out_ptr.dtype.element_ty)  # type: ignore[misc]
    tl.store(out_body + beside * out_column_stride, y, mask=inside, eviction_policy=EVICTION)
    start = 0
    for piece in tl.static_range(len(PIECES)):
        column = (start + tl.arange(0, PIECES[piece])).to(INDEX)
        y = (weights[piece + 1] * scale).to(out_ptr.dtype.element_ty)
        at = out_body + column * out_column_stride
        tl.store(at, y, eviction_policy=EVICTION)  # writes N a row, together with the rest: MN in all
        start += PIECES[piece]


def cut(columns: int, spare: int, smallest: int) -> tuple[tuple[int, ...], int]:
    """A row of ``columns`` as powers of two, none below ``smallest``, and a block that takes all that is left.

    At least ``spare`` elements are left, because a head may take as many.
    """
    pieces: list[int] = []
    left = columns
    while len(pieces) < MOST_PIECES and left - spare >= smallest:
        pieces.append(1 << (left - spare).bit_length() - 1)
        left -= pieces[-1]
    return tuple(pieces), triton.next_power_of_2(max(left, 1))


def softmax(
    x: torch.Tensor,
    out: torch.Tensor,
    *,
    empty_row: EmptyRow = "zero",
    warps: int | None = None,
    stream: bool = False,
) -> None:
    """Softmax of each row of ``x`` (M×N) into ``out`` (M×N). Raises ValueError for longer rows.

    ``stream`` asks the L2 cache to let go of what has been read and written first.
    """
    given = operands(x, out, empty_row, LONGEST_ROW)
    if given.empty:
        return
    warps = warps or tuning.warps(given.columns)
    vector = shift(given, x, out)
    pieces, rest = cut(given.columns, vector - 1, smallest=64 * warps)
    softmax_pieces[(given.rows,)](
        *given.positional,
        **given.constants,
        SHIFT=vector,
        PIECES=pieces,
        BODY=sum(pieces),
        REST=rest,
        EVICTION="evict_first" if stream else "",
        num_warps=warps,
    )
