"""Softmax of few long rows: the float64 oracle, and Triton kernels in which several programs share a row.

Where no program can hold a row and there are fewer rows than multiprocessors, one program a row leaves most of a GPU
idle. So a row is cut into S pieces. A first kernel leaves of every piece its maximum m and the sum l of exp(x - m),
found block by block with the online recurrence (Milakov and Gimelshein, "Online normalizer calculation for softmax",
2018). A second one merges the S pairs of its row, m = max m_i and l = sum of l_i exp(m_i - m), and writes its piece.
Nobody waits for a neighbour and nothing is accumulated by atomics: the result does not depend on the order of
programs, and both launches can be captured in a graph.

A row that is all -inf gives zeros, as attention needs it; NaN and +inf give a row of NaN.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

SHORTEST_BLOCK, LONGEST_BLOCK = 1024, 8192
"""Elements a step: at most 32 float32 a thread."""

PROGRAMS_A_MULTIPROCESSOR = 4
"""As many of the larger programs, 256 threads with up to 64 registers each, are resident at once."""

ORACLE_NUMEL = 1 << 24
"""Elements the oracle works on at a time, to keep its temporaries small beside a huge matrix."""

CHECK_BLOCK, CHECK_PIECE = 2048, 8192
"""Elements a step, and elements a program, of the check."""


def oracle(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of ``x`` (M×N, values as stored) in float64; a row that is all -inf gives zeros."""
    rows, columns = x.shape
    y = torch.empty((rows, columns), dtype=torch.float64, device=x.device)
    step = max(1, ORACLE_NUMEL // max(columns, 1))
    for start in range(0, rows if columns else 0, step):
        block = x[start : start + step].double()
        peak = block.amax(1, keepdim=True)  # NaN if any is: so is the row
        weight = (block - peak.masked_fill(peak == -torch.inf, 0.0)).exp_()
        total = weight.sum(1, keepdim=True)
        y[start : start + step] = weight.div_(total.masked_fill_(total == 0, 1.0))
    return y


@triton.jit
def _finite_base(peak):
    """What to subtract in exponents: the maximum, but 0 while that is -inf, because -inf - -inf is NaN."""
    return tl.where(peak == -float("inf"), 0.0, peak)


@triton.jit
def _absorb(peak, total, x):
    """The running maximum, and the running sum of exp(x - maximum), after one more block ``x``, padded with -inf."""
    higher = tl.maximum(peak, tl.max(x, axis=0))
    base = _finite_base(higher)
    return higher, total * tl.exp(peak - base) + tl.sum(tl.exp(x - base), axis=0)


@triton.jit
def _merge(peaks, totals):
    """One base and one sum for a row, of those of its pieces."""
    base = _finite_base(tl.max(peaks, axis=0))
    return base, tl.sum(totals * tl.exp((peaks - base).to(totals.dtype)), axis=0)


@triton.jit
def _softmax_partials(
    x_ptr,
    peak_ptr,
    total_ptr,
    x_row_stride,
    x_column_stride,
    columns,
    pieces,
    blocks,
    OFFSET: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Maximum and sum of one piece, ``blocks`` blocks of a row."""
    program = tl.program_id(0)
    row, piece = (program // pieces).to(tl.int64), program % pieces
    peak = -float("inf")
    total = 0.0
    for block in range(blocks):
        column = (piece * blocks + block) * BLOCK + tl.arange(0, BLOCK)
        at = x_ptr + row * x_row_stride + column.to(OFFSET) * x_column_stride
        x = tl.load(at, mask=column < columns, other=-float("inf")).to(tl.float32)
        peak, total = _absorb(peak, total, x)
    tl.store(peak_ptr + program, peak)
    tl.store(total_ptr + program, total)


@triton.jit
def _softmax_merge(
    x_ptr,
    out_ptr,
    peak_ptr,
    total_ptr,
    x_row_stride,
    x_column_stride,
    out_row_stride,
    columns,
    pieces,
    blocks,
    OFFSET: tl.constexpr,
    BLOCK: tl.constexpr,
    PIECES: tl.constexpr,
):
    """Write one piece by what all pieces of its row left behind."""
    # Backwards: what the first kernel read last is the likeliest to be still in the L2 cache.
    program = tl.num_programs(0) - 1 - tl.program_id(0)
    row, piece = (program // pieces).to(tl.int64), program % pieces
    other = tl.arange(0, PIECES)
    peaks = tl.load(peak_ptr + row * pieces + other, mask=other < pieces, other=-float("inf"))
    totals = tl.load(total_ptr + row * pieces + other, mask=other < pieces, other=0.0)
    base, total = _merge(peaks, totals)
    scale = 1.0 / tl.where(total == 0, 1.0, total)
    for block in range(blocks):
        column = (piece * blocks + block) * BLOCK + tl.arange(0, BLOCK)
        inside = column < columns
        at = x_ptr + row * x_row_stride + column.to(OFFSET) * x_column_stride
        x = tl.load(at, mask=inside, other=-float("inf")).to(tl.float32)
        y = tl.exp(x - base) * scale
        tl.store(out_ptr + row * out_row_stride + column, y.to(out_ptr.dtype.element_ty), mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    """Softmax of each row of ``x`` (M×N, any strides) into ``out`` (M×N, x's dtype, last stride 1)."""
    rows, columns = x.shape
    if rows == 0 or columns == 0:
        return
    block, pieces, blocks = _cut(rows, columns, _multiprocessors(x.device))
    warps = 4 if block <= 2048 else 8
    peaks, totals = torch.empty((2, rows * pieces), dtype=torch.float32, device=x.device)
    offset = tl.int64 if (columns - 1) * x.stride(1) >= 2**31 else tl.int32
    grid = (rows * pieces,)
    _softmax_partials[grid](
        x, peaks, totals, x.stride(0), x.stride(1), columns, pieces, blocks, offset, BLOCK=block, num_warps=warps
    )
    _softmax_merge[grid](
        x,
        out,
        peaks,
        totals,
        x.stride(0),
        x.stride(1),
        out.stride(0),
        columns,
        pieces,
        blocks,
        offset,
        BLOCK=block,
        PIECES=triton.next_power_of_2(pieces),
        num_warps=warps,
    )


def _cut(rows: int, columns: int, multiprocessors: int) -> tuple[int, int, int]:
    """Elements of a block, pieces of a row and blocks of a piece, so that all pieces are resident at once.

    Smaller blocks where a row has too few larger ones to go round. No piece is empty.
    """
    wanted = max(1, PROGRAMS_A_MULTIPROCESSOR * multiprocessors // rows)
    share = triton.next_power_of_2(triton.cdiv(columns, wanted))
    block = min(max(share, SHORTEST_BLOCK), LONGEST_BLOCK)
    whole = triton.cdiv(columns, block)
    blocks = triton.cdiv(whole, min(wanted, whole))
    return block, triton.cdiv(whole, blocks), blocks


def _multiprocessors(device: torch.device) -> int:
    """The GPU's multiprocessors; 1 where there is no GPU."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def copy_baseline(x: torch.Tensor, out: torch.Tensor) -> None:
    """The same bytes, moved and not changed: what softmax is held against."""
    out.copy_(x)


def torch_baseline(x: torch.Tensor, out: torch.Tensor) -> None:
    """What torch has. Rows that are all -inf, which it makes NaN, do not occur where speed is measured."""
    torch.softmax(x, 1, out=out)


# The check of timed outputs


@triton.jit
def _rounding(expected, DTYPE: tl.constexpr):
    """float32's smallest normal number, so that results may be flushed to zero; for 16 bits half an ulp besides.

    ``expected`` is float64, or float32 where that is enough.
    """
    if tl.float32 == DTYPE:
        return expected * 0.0 + 1.1754943508222875e-38
    if expected.dtype == tl.float64:
        power = (expected.to(tl.int64, bitcast=True) & 0x7FF0000000000000).to(tl.float64, bitcast=True)
    else:
        power = (expected.to(tl.int32, bitcast=True) & 0x7F800000).to(tl.float32, bitcast=True)
    if tl.float16 == DTYPE:
        return tl.maximum(power, 6.103515625e-05) * (0.5 * 0.0009765625) + 1.1754943508222875e-38
    return tl.maximum(power, 1.1754943508222875e-38) * (0.5 * 0.0078125) + 1.1754943508222875e-38


@triton.jit
def _peak_and_total(x_row, first, last, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    """Maximum of columns ``first`` to ``last``, and the sum of their weights: in ``FLOAT``, summed up in float64."""
    peak = tl.full((), -float("inf"), FLOAT)
    total = tl.full((), 0.0, tl.float64)
    for start in range(first, last, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + column, mask=column < last, other=-float("inf")).to(FLOAT)
        higher = tl.maximum(peak, tl.max(x, axis=0))
        base = _finite_base(higher)
        total = total * tl.exp((peak - base).to(tl.float64)) + tl.sum(tl.exp(x - base), axis=0)
        peak = higher
    return peak, total


@triton.jit
def _doubtful(x_row, y_row, first, last, base, total, RELATIVE: tl.constexpr, BLOCK: tl.constexpr):
    """How many elements of a piece float32 cannot call right.

    Its own error is at most ``depth`` (below the maximum) roundings of the exponent, twice, and a few of the rest:
    what lies within the bound by more than that lies within the bound in float64.
    """
    scale = (1.0 / total).to(tl.float32)
    doubtful = tl.full((), 0, tl.int32)
    for start in range(first, last, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < last
        x = tl.load(x_row + column, mask=inside, other=0.0).to(tl.float32)
        y = tl.load(y_row + column, mask=inside, other=0.0).to(tl.float32)
        depth = base - x
        expected = tl.exp(-depth) * scale
        bound = expected * (RELATIVE - 4e-6 - depth * 1.2e-7)
        bound += _rounding(expected * (1 - 2e-5), y_row.dtype.element_ty)
        sure = tl.abs(y - expected) <= bound  # false for NaN
        doubtful += tl.sum((inside & (sure == 0)).to(tl.int32), axis=0)
    return doubtful


@triton.jit
def _wrong(x_row, y_row, first, last, base, total, RELATIVE: tl.constexpr, BLOCK: tl.constexpr):
    """How many elements of a piece are wrong, in float64."""
    wrong = tl.full((), 0, tl.int64)
    for start in range(first, last, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < last
        x = tl.load(x_row + column, mask=inside, other=-float("inf")).to(tl.float64)
        y = tl.load(y_row + column, mask=inside, other=0.0).to(tl.float64)
        expected = tl.exp(x - base) / total
        bound = expected * RELATIVE + _rounding(expected, y_row.dtype.element_ty)
        right = tl.abs(y - expected) <= bound  # false for NaN
        wrong += tl.sum((inside & (right == 0)).to(tl.int64), axis=0)
    return wrong


@triton.jit
def _check_partials(
    x_ptr, peak_ptr, total_ptr, x_row_stride, columns, pieces, PIECE: tl.constexpr, BLOCK: tl.constexpr
):
    """Maximum and sum of one piece, weights in float32."""
    program = tl.program_id(0)
    row, first = (program // pieces).to(tl.int64), program % pieces * PIECE
    last = tl.minimum(first + PIECE, columns)
    peak, total = _peak_and_total(x_ptr + row * x_row_stride, first, last, tl.float32, BLOCK)
    tl.store(peak_ptr + program, peak)
    tl.store(total_ptr + program, total)


@triton.jit
def _count_wrong_in_piece(
    x_ptr,
    y_ptr,
    peak_ptr,
    total_ptr,
    wrong_ptr,
    x_row_stride,
    y_row_stride,
    columns,
    pieces,
    RELATIVE: tl.constexpr,
    PIECE: tl.constexpr,
    PIECES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One piece: float64, which goes over the whole row again, only where float32 has a doubt."""
    program = tl.program_id(0)
    row, first = (program // pieces).to(tl.int64), program % pieces * PIECE
    last = tl.minimum(first + PIECE, columns)
    x_row, y_row = x_ptr + row * x_row_stride, y_ptr + row * y_row_stride
    other = tl.arange(0, PIECES)
    peaks = tl.load(peak_ptr + row * pieces + other, mask=other < pieces, other=-float("inf"))
    totals = tl.load(total_ptr + row * pieces + other, mask=other < pieces, other=0.0)
    base, total = _merge(peaks, totals)
    wrong = tl.full((), 0, tl.int64)
    if _doubtful(x_row, y_row, first, last, base, total, RELATIVE, BLOCK) > 0:
        peak, exact = _peak_and_total(x_row, 0, columns, tl.float64, BLOCK)
        wrong = _wrong(x_row, y_row, first, last, peak, exact, RELATIVE, BLOCK)
    tl.store(wrong_ptr + program, wrong)


def count_wrong(x: torch.Tensor, y: torch.Tensor, relative: float) -> torch.Tensor:
    """How many elements of ``y`` (M×N) are no softmax of ``x`` within the policy ``one_rounding``.

    Both have last stride 1, and x has finite entries only: the random inputs of a measurement. An int64 scalar on
    their device. ``tests/reference`` holds it against ``oracle`` and ``graders.compare``.
    """
    rows, columns = x.shape
    pieces = triton.cdiv(columns, CHECK_PIECE)
    grid, cut = (rows * pieces,), {"PIECE": CHECK_PIECE, "BLOCK": CHECK_BLOCK}
    peaks = torch.empty(rows * pieces, dtype=torch.float32, device=x.device)
    totals = torch.empty(rows * pieces, dtype=torch.float64, device=x.device)
    wrong = torch.empty(rows * pieces, dtype=torch.int64, device=x.device)
    _check_partials[grid](x, peaks, totals, x.stride(0), columns, pieces, **cut, num_warps=4)
    _count_wrong_in_piece[grid](
        x,
        y,
        peaks,
        totals,
        wrong,
        x.stride(0),
        y.stride(0),
        columns,
        pieces,
        RELATIVE=relative,
        PIECES=triton.next_power_of_2(pieces),
        **cut,
        num_warps=4,
    )
    return wrong.sum()
