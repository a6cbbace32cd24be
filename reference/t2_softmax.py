"""Row softmax: the float64 oracle, and Triton kernels for rows of any length, stride and place.

Forms: a row that fits one block is read once (safe softmax); a longer one is read twice, the first time
with a running maximum and a running sum (Milakov and Gimelshein, "Online normalizer calculation for
softmax", 2018). A row that is all -inf gives zeros, as attention needs it; NaN and +inf give a row of NaN.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

LONGEST_BLOCK = 32768
"""Longest row, in elements, that one program keeps in registers: 64 float32 a thread with 16 warps."""

LOOP_BLOCK = 8192
"""Elements a step on longer rows."""

ORACLE_NUMEL = 1 << 24
"""Elements the oracle works on at a time, to keep its temporaries small beside a huge matrix."""


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
    """What to subtract from a row whose maximum is ``peak``: 0 when all of it is -inf, as -inf - -inf is NaN."""
    return tl.where(peak == -float("inf"), 0.0, peak)


@triton.jit
def _softmax_in_block(
    x_ptr, out_ptr, x_row_stride, x_column_stride, out_row_stride, columns, OFFSET: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    at = x_ptr + row * x_row_stride + column.to(OFFSET) * x_column_stride
    x = tl.load(at, mask=inside, other=-float("inf")).to(tl.float32)
    weight = tl.exp(x - _finite_base(tl.max(x, axis=0)))
    total = tl.sum(weight, axis=0)
    y = weight / tl.where(total == 0, 1.0, total)
    tl.store(out_ptr + row * out_row_stride + column, y.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _softmax_in_steps(
    x_ptr, out_ptr, x_row_stride, x_column_stride, out_row_stride, columns, OFFSET: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    x_row, out_row = x_ptr + row * x_row_stride, out_ptr + row * out_row_stride
    peak = -float("inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        at = x_row + column.to(OFFSET) * x_column_stride
        x = tl.load(at, mask=column < columns, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(peak, tl.max(x, axis=0))
        base = _finite_base(higher)
        total = total * tl.exp(peak - base) + tl.sum(tl.exp(x - base), axis=0)
        peak = higher
    base = _finite_base(peak)
    divisor = tl.where(total == 0, 1.0, total)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
        at = x_row + column.to(OFFSET) * x_column_stride
        x = tl.load(at, mask=inside, other=-float("inf")).to(tl.float32)
        y = tl.exp(x - base) / divisor
        tl.store(out_row + column, y.to(out_ptr.dtype.element_ty), mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    """Softmax of each row of ``x`` (M×N, any strides) into ``out`` (M×N, x's dtype, last stride 1)."""
    rows, columns = x.shape
    if rows == 0 or columns == 0:
        return
    offset = tl.int64 if (columns - 1) * x.stride(1) >= 2**31 else tl.int32
    arguments = (x, out, x.stride(0), x.stride(1), out.stride(0), columns, offset)
    if columns > LONGEST_BLOCK:
        _softmax_in_steps[(rows,)](*arguments, BLOCK=LOOP_BLOCK, num_warps=16)
        return
    block = triton.next_power_of_2(columns)
    warps = 4 if block <= 2048 else 8 if block <= 8192 else 16
    _softmax_in_block[(rows,)](*arguments, BLOCK=block, num_warps=warps)


def timed_reference(x: torch.Tensor, out: torch.Tensor) -> None:
    """What submissions are timed against: the fastest kernel that is known for each shape.

    ``softmax`` above is complete in this file, and so can be judged as a submission is. Of the ladder only the process
    that is timed knows, so it is imported here.
    """
    from reference.softmax import softmax as fastest

    fastest(x, out)


@triton.jit
def _copy_in_steps(x_ptr, out_ptr, x_row_stride, out_row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
        x = tl.load(x_ptr + row * x_row_stride + column, mask=inside)
        tl.store(out_ptr + row * out_row_stride + column, x, mask=inside)


def copy_baseline(x: torch.Tensor, out: torch.Tensor) -> None:
    """The same bytes, moved and not changed (M×N, last stride 1): what softmax is held against.

    torch's copy is slower on a view of wider rows: 194 µs where 131 are possible, on an H200.
    """
    rows, columns = x.shape
    if x.is_contiguous() and out.is_contiguous():
        out.copy_(x)
    else:
        block = min(triton.next_power_of_2(columns), 4096)
        _copy_in_steps[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=block)


def torch_baseline(x: torch.Tensor, out: torch.Tensor) -> None:
    """What torch has. Rows that are all -inf, which it makes NaN, do not occur where speed is measured."""
    torch.softmax(x, 1, out=out)


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
def _peak_and_total(x_row, columns, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    """Maximum of a row, and the sum of its weights: weights in ``FLOAT``, summed up in float64."""
    peak = tl.full((), -float("inf"), FLOAT)
    total = tl.full((), 0.0, tl.float64)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + column, mask=column < columns, other=-float("inf")).to(FLOAT)
        higher = tl.maximum(peak, tl.max(x, axis=0))
        base = _finite_base(higher)
        total = total * tl.exp((peak - base).to(tl.float64)) + tl.sum(tl.exp(x - base), axis=0)
        peak = higher
    return _finite_base(peak), tl.where(total == 0, 1.0, total)


@triton.jit
def _doubtful_in_row(x_row, y_row, columns, RELATIVE: tl.constexpr, BLOCK: tl.constexpr):
    """How many elements of a row float32 cannot call right.

    Its own error is at most ``depth`` (below the maximum) roundings of the exponent, twice, and a few of the rest:
    what lies within the bound by more than that lies within the bound in float64.
    """
    base, total = _peak_and_total(x_row, columns, tl.float32, BLOCK)
    scale = (1.0 / total).to(tl.float32)
    doubtful = tl.full((), 0, tl.int32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
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
def _wrong_in_row(x_row, y_row, columns, RELATIVE: tl.constexpr, BLOCK: tl.constexpr):
    """How many elements of a row are wrong, in float64."""
    base, total = _peak_and_total(x_row, columns, tl.float64, BLOCK)
    wrong = tl.full((), 0, tl.int64)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
        x = tl.load(x_row + column, mask=inside, other=-float("inf")).to(tl.float64)
        y = tl.load(y_row + column, mask=inside, other=0.0).to(tl.float64)
        expected = tl.exp(x - base) / total
        bound = expected * RELATIVE + _rounding(expected, y_row.dtype.element_ty)
        right = tl.abs(y - expected) <= bound  # false for NaN
        wrong += tl.sum((inside & (right == 0)).to(tl.int64), axis=0)
    return wrong


@triton.jit
def _count_wrong_in_row(
    x_ptr, y_ptr, wrong_ptr, x_row_stride, y_row_stride, columns, RELATIVE: tl.constexpr, BLOCK: tl.constexpr
):
    """One row: float64 only where float32 has a doubt, because its exponentials take longer than reading the row."""
    row = tl.program_id(0).to(tl.int64)
    x_row, y_row = x_ptr + row * x_row_stride, y_ptr + row * y_row_stride
    wrong = tl.full((), 0, tl.int64)
    if _doubtful_in_row(x_row, y_row, columns, RELATIVE, BLOCK) > 0:
        wrong = _wrong_in_row(x_row, y_row, columns, RELATIVE, BLOCK)
    tl.store(wrong_ptr + row, wrong)


def count_wrong(x: torch.Tensor, y: torch.Tensor, relative: float) -> torch.Tensor:
    """How many elements of ``y`` (M×N) are no softmax of ``x`` within the policy ``one_rounding``.

    Both have last stride 1, and x has finite entries only: the random inputs of a measurement. An int64 scalar on
    their device. ``tests/reference`` holds it against ``oracle`` and ``graders.compare``.
    """
    rows, columns = x.shape
    wrong = torch.empty(rows, dtype=torch.int64, device=x.device)
    block = min(triton.next_power_of_2(columns), 2048)
    _count_wrong_in_row[(rows,)](
        x, y, wrong, x.stride(0), y.stride(0), columns, RELATIVE=relative, BLOCK=block, num_warps=4
    )
    return wrong.sum()
