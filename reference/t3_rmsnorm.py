"""Row-wise RMSNorm with a weight: the float64 oracle, and Triton kernels for rows of any length, stride and place.

y = x / sqrt(mean(x²) + EPS) · weight for each row (Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019).
A row that fits one block is read once, and short rows share a program; a longer one is read twice.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

EPS = 1e-6

LONGEST_BLOCK = 32768
"""Longest row, in elements, that one program keeps in registers."""

LOOP_BLOCK = 8192
"""Elements a step on longer rows."""

TILE_BYTES = 4096
"""Least that a program reads of x: eight loads of 16 bytes for each thread of a warp."""

ORACLE_NUMEL = 1 << 24
"""Elements the oracle works on at a time, to keep its temporaries small beside a huge matrix."""


def oracle(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """RMSNorm of each row of ``x`` (M×N, values as stored) by ``weight`` (N), in float64."""
    rows, columns = x.shape
    y = torch.empty((rows, columns), dtype=torch.float64, device=x.device)
    step = max(1, ORACLE_NUMEL // max(columns, 1))
    for start in range(0, rows if columns else 0, step):
        block = x[start : start + step].double()
        mean = block.square().sum(1, keepdim=True) / columns
        y[start : start + step] = block / (mean + EPS).sqrt() * weight.double()
    return y


@triton.jit
def _rmsnorm_in_tile(
    x_ptr,
    weight_ptr,
    out_ptr,
    x_row_stride,
    x_column_stride,
    weight_stride,
    out_row_stride,
    rows,
    columns,
    EPS: tl.constexpr,
    OFFSET: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    within = column < columns
    inside = (row < rows)[:, None] & within[None, :]
    at = x_ptr + (row * x_row_stride)[:, None] + (column.to(OFFSET) * x_column_stride)[None, :]
    x = tl.load(at, mask=inside, other=0.0, eviction_policy="evict_first").to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=1) / columns + EPS)
    # Every program reads the weight, and x passes by once: the caches should keep the weight.
    weight_at = weight_ptr + column.to(OFFSET) * weight_stride
    weight = tl.load(weight_at, mask=within, other=0.0, eviction_policy="evict_last").to(tl.float32)
    y = x * scale[:, None] * weight[None, :]
    to = out_ptr + (row * out_row_stride)[:, None] + column[None, :]
    tl.store(to, y.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _rmsnorm_in_steps(
    x_ptr,
    weight_ptr,
    out_ptr,
    x_row_stride,
    x_column_stride,
    weight_stride,
    out_row_stride,
    columns,
    blocks,
    EPS: tl.constexpr,
    OFFSET: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    x_row, out_row = x_ptr + row * x_row_stride, out_ptr + row * out_row_stride
    squares = tl.zeros((BLOCK,), tl.float32)
    for block in range(blocks):
        column = block * BLOCK + tl.arange(0, BLOCK)
        at = x_row + column.to(OFFSET) * x_column_stride
        x = tl.load(at, mask=column < columns, other=0.0, eviction_policy="evict_last").to(tl.float32)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, axis=0) / columns + EPS)
    for done in range(blocks):
        # Backwards: the end of the row, read last, is the likeliest to be still in a cache.
        column = (blocks - 1 - done) * BLOCK + tl.arange(0, BLOCK)
        within = column < columns
        at = x_row + column.to(OFFSET) * x_column_stride
        x = tl.load(at, mask=within, other=0.0, eviction_policy="evict_first").to(tl.float32)
        weight_at = weight_ptr + column.to(OFFSET) * weight_stride
        weight = tl.load(weight_at, mask=within, other=0.0, eviction_policy="evict_last").to(tl.float32)
        tl.store(out_row + column, (x * scale * weight).to(out_ptr.dtype.element_ty), mask=within)


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> None:
    """RMSNorm of each row of ``x`` (M×N, any strides) by ``weight`` (N, any stride) into ``out`` (M×N, last stride 1).

    All three are of the same dtype.
    """
    rows, columns = x.shape
    if rows == 0 or columns == 0:
        return
    offset = tl.int64 if (columns - 1) * max(x.stride(1), weight.stride(0)) >= 2**31 else tl.int32
    arguments = (x, weight, out, x.stride(0), x.stride(1), weight.stride(0), out.stride(0))
    constants = {"EPS": EPS, "OFFSET": offset}
    if columns > LONGEST_BLOCK:
        blocks = triton.cdiv(columns, LOOP_BLOCK)
        _rmsnorm_in_steps[(rows,)](*arguments, columns, blocks, **constants, BLOCK=LOOP_BLOCK, num_warps=16)
        return
    block, tile_rows, warps = _tile(columns, x.itemsize)
    grid = (triton.cdiv(rows, tile_rows),)
    _rmsnorm_in_tile[grid](*arguments, rows, columns, **constants, ROWS=tile_rows, BLOCK=block, num_warps=warps)


def _tile(columns: int, itemsize: int) -> tuple[int, int, int]:
    """Elements of a block, rows of a tile, and warps of the program that takes it: short rows lie within one warp."""
    block = triton.next_power_of_2(columns)
    tile_rows = max(1, TILE_BYTES // (block * itemsize))
    return block, tile_rows, min(max(1, block // 1024), 32)


@triton.jit
def _copy_in_steps(x_ptr, out_ptr, x_row_stride, out_row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
        x = tl.load(x_ptr + row * x_row_stride + column, mask=inside)
        tl.store(out_ptr + row * out_row_stride + column, x, mask=inside)


def copy_baseline(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> None:  # noqa: ARG001
    """x moved and not changed (M×N, last stride 1): all the bytes but the weight's, which are few."""
    columns = x.shape[1]
    if x.is_contiguous() and out.is_contiguous():
        out.copy_(x)
    else:
        block = min(triton.next_power_of_2(columns), 4096)
        _copy_in_steps[(x.shape[0],)](x, out, x.stride(0), out.stride(0), columns, BLOCK=block)


# The check of timed outputs


@triton.jit
def _rounding(size, DTYPE: tl.constexpr):
    """float32's smallest normal number, so that results may be flushed to zero; for 16 bits half an ulp besides.

    ``size`` is the float64 absolute value of what is expected.
    """
    if tl.float32 == DTYPE:
        return size * 0.0 + 1.1754943508222875e-38
    power = (size.to(tl.int64, bitcast=True) & 0x7FF0000000000000).to(tl.float64, bitcast=True)
    if tl.float16 == DTYPE:
        return tl.maximum(power, 6.103515625e-05) * (0.5 * 0.0009765625) + 1.1754943508222875e-38
    return tl.maximum(power, 1.1754943508222875e-38) * (0.5 * 0.0078125) + 1.1754943508222875e-38


@triton.jit
def _count_wrong_in_row(
    x_ptr,
    weight_ptr,
    y_ptr,
    wrong_ptr,
    x_row_stride,
    y_row_stride,
    columns,
    EPS: tl.constexpr,
    RELATIVE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    x_row, y_row = x_ptr + row * x_row_stride, y_ptr + row * y_row_stride
    squares = tl.full((), 0.0, tl.float64)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + column, mask=column < columns, other=0.0).to(tl.float64)
        squares += tl.sum(x * x, axis=0)
    root = tl.sqrt(squares / columns + EPS)
    wrong = tl.full((), 0, tl.int64)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
        x = tl.load(x_row + column, mask=inside, other=0.0).to(tl.float64)
        weight = tl.load(weight_ptr + column, mask=inside, other=0.0).to(tl.float64)
        y = tl.load(y_row + column, mask=inside, other=0.0).to(tl.float64)
        expected = x / root * weight
        size = tl.abs(expected)
        right = tl.abs(y - expected) <= size * RELATIVE + _rounding(size, y_row.dtype.element_ty)  # false for NaN
        wrong += tl.sum((inside & (right == 0)).to(tl.int64), axis=0)
    tl.store(wrong_ptr + row, wrong)


def count_wrong(x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor, relative: float) -> torch.Tensor:
    """How many elements of ``y`` (M×N) are no RMSNorm of ``x`` by ``weight`` within the policy ``one_rounding``.

    x and y have last stride 1, the weight is contiguous, all are finite: the random inputs of a measurement. An int64
    scalar on their device. ``tests/reference`` holds it against ``oracle`` and ``graders.compare``.
    """
    rows, columns = x.shape
    wrong = torch.empty(rows, dtype=torch.int64, device=x.device)
    block = min(triton.next_power_of_2(columns), 2048)
    _count_wrong_in_row[(rows,)](
        x, weight, y, wrong, x.stride(0), y.stride(0), columns, EPS=EPS, RELATIVE=relative, BLOCK=block, num_warps=4
    )
    return wrong.sum()
