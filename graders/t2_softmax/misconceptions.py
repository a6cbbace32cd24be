"""Known mistakes, and what each would leave in ``out``.

``guarded`` variants are those of submissions that give zeros where a row's sum is 0: the one mistake does not
exclude that the other was avoided.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import product

import torch

from graders.memory import Call, Layout
from graders.misconception import Misconception, Model

INF = float("inf")
NAN = float("nan")
FIXED_BLOCKS = tuple(1 << k for k in range(5, 17))
FINITE_PADDINGS = (-1e3, -1e4, -65504.0, -1e5, -1e6, -1e9, -1e10, -1e20, -1e30)
LARGEST_MODELLED = 1 << 24
"""Elements above which a model costs more than it tells."""


# What is known of a call


def x_of(call: Call) -> torch.Tensor:
    return call.inputs[0].values.double()


def layouts(call: Call) -> tuple[Layout, Layout]:
    """Where x and out lie."""
    return call.inputs[0].layout, call.outs[0].layout


def shape(call: Call) -> tuple[int, int]:
    rows, columns = call.outs[0].layout.shape
    return rows, columns


def modelled(predicate: Callable[[Call], bool]) -> Callable[[Call], bool]:
    return lambda call: call.outs[0].layout.view_numel <= LARGEST_MODELLED and predicate(call)


def peaks(call: Call) -> torch.Tensor:
    """The maximum of each row."""
    return call.inputs[0].values.amax(1).double()


# Pieces of models


def softmax(x: torch.Tensor, base: torch.Tensor | None = None, *, guarded: bool = False) -> torch.Tensor:
    """exp(x - base) over its sum in each row, with float32's range; base is the row's maximum if not given."""
    base = x.amax(1, keepdim=True) if base is None else base
    if guarded:
        base = base.masked_fill(base == -INF, 0.0)
    weight = (x - base).float().exp()
    total = weight.sum(1, keepdim=True)
    return (weight / (total.masked_fill(total == 0, 1.0) if guarded else total)).double()


def loaded(call: Call, row_stride: int, column_stride: int) -> torch.Tensor:
    """x as read with these strides, NaN outside of its storage."""
    rows, columns = shape(call)
    device = call.storages[0].device
    row, column = torch.arange(rows, device=device)[:, None], torch.arange(columns, device=device)
    return call.gather(0, row * row_stride + column * column_stride)


def stored(call: Call, y: torch.Tensor, row_stride: int) -> torch.Tensor:
    """What out holds after ``y`` was written with rows ``row_stride`` apart, the last row last."""
    (rows, columns), right = y.shape, call.outs[0].layout.strides[0]
    if row_stride == right:
        return y
    row, column = torch.arange(rows, device=y.device)[:, None], torch.arange(columns, device=y.device)
    address = row * right + column
    writer = (address // row_stride).clamp(max=rows - 1)
    source = address - writer * row_stride
    return torch.where(source < columns, y[writer, source.clamp(max=columns - 1)], NAN)


def wrapped(offset: int) -> int:
    """An offset as a 32-bit product gives it."""
    return (offset + 2**31) % 2**32 - 2**31


# The models


def padded(call: Call, value: float, block: int | None) -> tuple[torch.Tensor, ...]:
    """Rows filled up with ``value``: to a power of two, or to a multiple of ``block``."""
    x = x_of(call)
    columns = x.shape[1]
    size = 1 << (columns - 1).bit_length() if block is None else -(-columns // block) * block
    filled = torch.nn.functional.pad(x, (0, size - columns), value=value)
    return (softmax(filled, guarded=True)[:, :columns],)


def contiguous_rows(call: Call, columns_too: bool, x_too: bool, out_too: bool) -> tuple[torch.Tensor, ...]:
    """Rows taken to be N apart."""
    x, out = layouts(call)
    columns = shape(call)[1]
    values = loaded(call, columns, 1 if columns_too else x.strides[1]) if x_too else x_of(call)
    return (stored(call, softmax(values, guarded=True), columns if out_too else out.strides[0]),)


def contiguous_columns(call: Call) -> tuple[torch.Tensor, ...]:
    x, _ = layouts(call)
    return (softmax(loaded(call, x.strides[0], 1), guarded=True),)


def out_like_x(call: Call) -> tuple[torch.Tensor, ...]:
    x, _ = layouts(call)
    return (stored(call, softmax(x_of(call), guarded=True), x.strides[0]),)


def int32_rows(call: Call, x_too: bool, out_too: bool) -> tuple[torch.Tensor, ...]:
    x, out = layouts(call)
    rows, columns = shape(call)
    values = x_of(call)
    if x_too:
        column = torch.arange(columns, device=call.storages[0].device) * x.strides[1]
        values = torch.stack([call.gather(0, wrapped(row * x.strides[0]) + column) for row in range(rows)])
    y = softmax(values, guarded=True)
    lost = [row for row in range(rows) if out_too and wrapped(row * out.strides[0]) != row * out.strides[0]]
    y[lost] = NAN
    return (y,)


def without_max(call: Call, guarded: bool) -> tuple[torch.Tensor, ...]:
    x = x_of(call)
    return (softmax(x, torch.zeros_like(x[:, :1]), guarded=guarded),)


def max_from_zero(call: Call, guarded: bool) -> tuple[torch.Tensor, ...]:
    x = x_of(call)
    return (softmax(x, x.amax(1, keepdim=True).clamp(min=0.0), guarded=guarded),)


def sixteen_bits(call: Call, round_difference: bool, round_sum: bool) -> tuple[torch.Tensor, ...]:
    """exp kept in the input's dtype, and perhaps what comes before and after it."""
    x, dtype = x_of(call), call.outs[0].dtype
    difference = x - x.amax(1, keepdim=True)
    if round_difference:
        difference = difference.to(dtype).double()
    weight = difference.exp().to(dtype).double()
    total = weight.sum(1, keepdim=True)
    return ((weight / (total.to(dtype).double() if round_sum else total)).to(dtype).double(),)


def without_guard(call: Call) -> tuple[torch.Tensor, ...]:
    return (softmax(x_of(call)),)


def capped(call: Call, block: int, guarded: bool) -> tuple[torch.Tensor, ...]:
    """Only the first ``block`` columns are read and written."""
    x = x_of(call)
    y = torch.full_like(x, NAN)
    y[:, :block] = softmax(x[:, :block], guarded=guarded)
    return (y,)


# When each can make a difference


def ragged(call: Call) -> bool:
    columns = shape(call)[1]
    return columns.bit_count() != 1


def rows_apart(call: Call) -> bool:
    x, out = layouts(call)
    rows, columns = shape(call)
    return rows > 1 and (x.strides != (columns, 1) or out.strides[0] != columns)


def columns_apart(call: Call) -> bool:
    return layouts(call)[0].strides[1] != 1 and shape(call)[1] > 1


def strides_differ(call: Call) -> bool:
    x, out = layouts(call)
    return shape(call)[0] > 1 and x.strides[0] != out.strides[0]


def beyond_32_bits(call: Call) -> bool:
    return any((shape(call)[0] - 1) * layout.strides[0] >= 2**31 for layout in layouts(call))


def far_from_zero(call: Call) -> bool:
    peak = peaks(call)
    return bool(((peak.abs() > 60) & peak.isfinite()).any())


def has_16_bits(call: Call) -> bool:
    return call.outs[0].dtype.itemsize == 2


def has_all_inf_row(call: Call) -> bool:
    return bool((peaks(call) == -INF).any())


def longer_than_a_block(call: Call) -> bool:
    return shape(call)[1] > FIXED_BLOCKS[0]


def mistake(key: str, applies: Callable[[Call], bool], models: tuple[Model, ...], source: str) -> Misconception:
    return Misconception(key, modelled(applies), models, re.compile(source))


EITHER = (False, True)

MISCONCEPTIONS: tuple[Misconception, ...] = (
    mistake(
        "padding_zero",
        ragged,
        tuple(partial(padded, value=0.0, block=block) for block in (None, *FIXED_BLOCKS)),
        r"other\s*=\s*0|tl\.load\((?!.*other)",
    ),
    mistake(
        "padding_finite",
        ragged,
        tuple(partial(padded, value=value, block=None) for value in FINITE_PADDINGS),
        r"other\s*=\s*-\s*[\d.]|-\s*\d+\.?\d*e\d+",
    ),
    mistake(
        "stride_is_n",
        rows_apart,
        tuple(
            partial(contiguous_rows, columns_too=columns_too, x_too=x_too, out_too=out_too)
            for columns_too, x_too, out_too in product(EITHER, EITHER, EITHER)
            if x_too or out_too
        ),
        r"(row\w*|pid|program_id\(0\))\s*\*\s*(n\w*|N\w*|columns|cols)\b",
    ),
    mistake("column_stride_is_1", columns_apart, (contiguous_columns,), r"tl\.load\("),
    mistake("out_like_x", strides_differ, (out_like_x,), r"tl\.store\("),
    mistake(
        "int32_rows",
        beyond_32_bits,
        tuple(partial(int32_rows, x_too=x, out_too=out) for x, out in ((True, True), (True, False), (False, True))),
        r"program_id\((?!.*int64)",
    ),
    mistake(
        "no_max", far_from_zero, tuple(partial(without_max, guarded=guarded) for guarded in EITHER), r"tl\.exp2?\("
    ),
    mistake(
        "max_from_zero",
        far_from_zero,
        tuple(partial(max_from_zero, guarded=guarded) for guarded in EITHER),
        r"tl\.zeros|\bm\w*\s*=\s*0(\.0*)?\s*$|tl\.maximum\([^)]*\b0",
    ),
    mistake(
        "sixteen_bits",
        has_16_bits,
        tuple(partial(sixteen_bits, round_difference=d, round_sum=s) for d, s in product(EITHER, EITHER)),
        r"float16|\.dtype\b|element_ty|tl\.exp2?\(",
    ),
    mistake("nan_on_all_inf", has_all_inf_row, (without_guard,), r"tl\.max\(|/\s*\w"),
    mistake(
        "block_capped",
        longer_than_a_block,
        tuple(partial(capped, block=block, guarded=guarded) for block, guarded in product(FIXED_BLOCKS, EITHER)),
        r"BLOCK\w*\s*=\s*\d+|\bmin\(",
    ),
)
