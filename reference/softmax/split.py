"""Rung 5: few long rows, each shared by S programs: 2MN elements read, MN written, and the partial results.

With one program a row, fewer rows than multiprocessors leave the rest of the GPU idle. Here a first kernel leaves the
maximum m and the sum l of every piece of a row in a workspace of 2·M·S numbers, and a second one merges the S pairs
of its row (m = max m_i, l = Σ l_i·exp(m_i − m)) and writes its piece. Two kernels rather than one that waits for its
neighbours: the result does not depend on the order of programs, and the pair can be captured in a CUDA graph.

Any N; M·S < 2^31, the size of a grid.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from reference.softmax import tuning
from reference.softmax.arguments import COMPUTE_DTYPE, EmptyRow, operands
from reference.softmax.arithmetic import absorb, exp, finite_base, reciprocal
from reference.softmax.hints import in_units


@triton.jit
def softmax_split_partials(
    x_ptr,
    peak_ptr,
    total_ptr,
    x_row_stride,
    x_column_stride,
    columns,
    splits,
    blocks,
    INDEX: tl.constexpr,
    COMPUTE: tl.constexpr,
    UNIT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """m and l of one piece of a row: ``blocks`` blocks of it."""
    program = tl.program_id(0)
    row, split = (program // splits).to(tl.int64), program % splits
    lane = tl.arange(0, BLOCK)
    peak = tl.full((), -float("inf"), COMPUTE)
    total = tl.full((), 0.0, COMPUTE)
    for block in range(blocks):
        column = tl.cast(split * blocks + block, INDEX) * BLOCK + lane
        at = x_ptr + row * in_units(x_row_stride, UNIT) + column * x_column_stride
        x = tl.load(at, mask=column < in_units(columns, UNIT), other=-float("inf")).to(COMPUTE)  # reads N/S: MN in all
        peak, total = absorb(peak, total, x)
    tl.store(peak_ptr + program, peak)  # writes 1: M·S in all
    tl.store(total_ptr + program, total)  # writes 1: M·S in all


@triton.jit
def softmax_split_merge(
    x_ptr,
    out_ptr,
    x_row_stride,
    x_column_stride,
    out_row_stride,
    out_column_stride,
    columns,
    peak_ptr,
    total_ptr,
    splits,
    blocks,
    INDEX: tl.constexpr,
    COMPUTE: tl.constexpr,
    UNIT: tl.constexpr,
    ZERO_EMPTY: tl.constexpr,
    BLOCK: tl.constexpr,
    SPLITS: tl.constexpr,
):
    """Merge the partial results of a row and write one piece of it."""
    # Backwards: the pieces that the first kernel read last are the likeliest to be still in the L2 cache.
    program = tl.num_programs(0) - 1 - tl.program_id(0)
    row, split = (program // splits).to(tl.int64), program % splits
    other = tl.arange(0, SPLITS)
    partial = row * splits + other
    peaks = tl.load(peak_ptr + partial, mask=other < splits, other=-float("inf"))  # reads S: M·S² in all
    totals = tl.load(total_ptr + partial, mask=other < splits, other=0.0)  # reads S: M·S² in all
    base = finite_base(tl.max(peaks, axis=0))
    scale = reciprocal(tl.sum(totals * tl.exp(peaks - base), axis=0), ZERO_EMPTY)
    lane = tl.arange(0, BLOCK)
    for block in range(blocks):
        column = tl.cast(split * blocks + block, INDEX) * BLOCK + lane
        inside = column < in_units(columns, UNIT)
        at = x_ptr + row * in_units(x_row_stride, UNIT) + column * x_column_stride
        x = tl.load(at, mask=inside, other=-float("inf")).to(COMPUTE)  # reads N/S: 2MN in all
        y = exp(x - base) * scale
        to = out_ptr + row * in_units(out_row_stride, UNIT) + column * out_column_stride
        tl.store(to, y.to(out_ptr.dtype.element_ty), mask=inside)  # writes N/S: MN in all


def softmax(
    x: torch.Tensor,
    out: torch.Tensor,
    *,
    empty_row: EmptyRow = "zero",
    splits: int | None = None,
    block: int | None = None,
    warps: int | None = None,
) -> None:
    """Softmax of each row of ``x`` (M×N) into ``out`` (M×N), each row shared by about ``splits`` programs."""
    given = operands(x, out, empty_row)
    if given.empty:
        return
    block = block or tuning.loop_block(given.columns)
    warps = warps or tuning.warps(block)
    splits, blocks = pieces(given.columns, splits or tuning.splits(x.device, given.rows, warps), block)
    partials = torch.empty((2, given.rows, splits), dtype=COMPUTE_DTYPE[x.dtype], device=x.device)
    compute = {name: given.constants[name] for name in ("INDEX", "COMPUTE", "UNIT")}
    softmax_split_partials[(given.rows * splits,)](
        x, *partials, x.stride(0), x.stride(1), given.columns, splits, blocks, **compute, BLOCK=block, num_warps=warps
    )
    softmax_split_merge[(given.rows * splits,)](
        *given.positional,
        *partials,
        splits,
        blocks,
        **given.constants,
        BLOCK=block,
        SPLITS=triton.next_power_of_2(splits),
        num_warps=warps,
    )


def pieces(columns: int, splits: int, block: int) -> tuple[int, int]:
    """How many pieces of how many blocks a row of ``columns`` is cut into: at most ``splits``, none of them empty."""
    whole = triton.cdiv(columns, block)
    blocks = triton.cdiv(whole, min(splits, whole))
    return triton.cdiv(whole, blocks), blocks
