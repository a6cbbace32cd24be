"""Mistakes that every drill over rows meets: what is known of a call, and what each would leave.

``compute`` is what the drill does to the rows of a float64 matrix, given the inputs beside it as further arguments. A
model gives the outputs as ``graders.misconception`` wants them: float64, NaN where nothing would be written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import product

import torch

from graders.memory import Call, Layout
from graders.misconception import Misconception, Model

NAN = float("nan")
LARGEST_MODELLED = 1 << 24
"""Elements above which a model costs more than it tells."""

FIXED_BLOCKS = tuple(1 << k for k in range(5, 17))
"""Lengths that a submission may have fixed its block at."""

Compute = Callable[..., torch.Tensor]
Predicate = Callable[[Call], bool]


def mistake(
    key: str, applies: Predicate, models: tuple[Model, ...], source: str, largest: int = LARGEST_MODELLED
) -> Misconception:
    """A misconception that is looked for in calls of at most ``largest`` elements."""
    return Misconception(key, modelled(applies, largest), models, re.compile(source))


# What is known of a call


def x_of(call: Call) -> torch.Tensor:
    return call.inputs[0].values.double()


def beside(call: Call) -> tuple[torch.Tensor, ...]:
    """The inputs beside x."""
    return tuple(operand.values.double() for operand in call.inputs[1:])


def layouts(call: Call) -> tuple[Layout, Layout]:
    """Where x and out lie."""
    return call.inputs[0].layout, call.outs[0].layout


def shape(call: Call) -> tuple[int, int]:
    rows, columns = call.outs[0].layout.shape
    return rows, columns


def modelled(predicate: Predicate, largest: int = LARGEST_MODELLED) -> Predicate:
    """The predicate, on calls of at most so many elements."""
    return lambda call: call.outs[0].layout.view_numel <= largest and predicate(call)


def loaded(call: Call, row_stride: int, column_stride: int) -> torch.Tensor:
    """x as read with these strides, NaN outside of its storage."""
    rows, columns = shape(call)
    device = call.storages[0].device
    row, column = torch.arange(rows, device=device)[:, None], torch.arange(columns, device=device)
    return call.gather(0, row * row_stride + column * column_stride)


def stored(call: Call, y: torch.Tensor, row_stride: int) -> torch.Tensor:
    """What out holds after ``y`` was written with rows ``row_stride`` apart, which is no less than their length."""
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


def contiguous_rows(
    call: Call, compute: Compute, columns_too: bool, x_too: bool, out_too: bool
) -> tuple[torch.Tensor, ...]:
    """Rows taken to be N apart."""
    x, out = layouts(call)
    columns = shape(call)[1]
    values = loaded(call, columns, 1 if columns_too else x.strides[1]) if x_too else x_of(call)
    return (stored(call, compute(values, *beside(call)), columns if out_too else out.strides[0]),)


def contiguous_columns(call: Call, compute: Compute) -> tuple[torch.Tensor, ...]:
    """Neighbours taken to be 1 apart."""
    x, _ = layouts(call)
    return (compute(loaded(call, x.strides[0], 1), *beside(call)),)


def out_like_x(call: Call, compute: Compute) -> tuple[torch.Tensor, ...]:
    """out written with the row stride of x."""
    x, _ = layouts(call)
    return (stored(call, compute(x_of(call), *beside(call)), x.strides[0]),)


def int32_rows(call: Call, compute: Compute, x_too: bool, out_too: bool) -> tuple[torch.Tensor, ...]:
    """Row offsets that wrap at 32 bits."""
    x, out = layouts(call)
    rows, columns = shape(call)
    values = x_of(call)
    if x_too:
        column = torch.arange(columns, device=call.storages[0].device) * x.strides[1]
        values = torch.stack([call.gather(0, wrapped(row * x.strides[0]) + column) for row in range(rows)])
    y = compute(values, *beside(call))
    lost = [row for row in range(rows) if out_too and wrapped(row * out.strides[0]) != row * out.strides[0]]
    y[lost] = NAN
    return (y,)


def capped(call: Call, compute: Compute, block: int) -> tuple[torch.Tensor, ...]:
    """Only the first ``block`` columns, of x and of what lies beside it, are read and written."""
    x = x_of(call)
    y = torch.full_like(x, NAN)
    y[:, :block] = compute(x[:, :block], *(vector[:block] for vector in beside(call)))
    return (y,)


def every_contiguous_rows(compute: Compute) -> tuple[Model, ...]:
    """``contiguous_rows`` of x, of out or of both, with neighbours taken to be 1 apart or not."""
    either = (False, True)
    return tuple(
        partial(contiguous_rows, compute=compute, columns_too=columns_too, x_too=x_too, out_too=out_too)
        for columns_too, x_too, out_too in product(either, either, either)
        if x_too or out_too
    )


def every_int32_rows(compute: Compute) -> tuple[Model, ...]:
    """``int32_rows`` of x, of out or of both."""
    wrapping = ((True, True), (True, False), (False, True))
    return tuple(partial(int32_rows, compute=compute, x_too=x_too, out_too=out_too) for x_too, out_too in wrapping)


# When each can make a difference


def longer_than_a_block(call: Call) -> bool:
    return shape(call)[1] > FIXED_BLOCKS[0]


def ragged(call: Call) -> bool:
    """Whether rows are no power of two long."""
    return shape(call)[1].bit_count() != 1


def has_16_bits(call: Call) -> bool:
    return call.outs[0].dtype.itemsize == 2


def rows_apart(call: Call) -> bool:
    x, out = layouts(call)
    rows, columns = shape(call)
    return rows > 1 and (x.strides != (columns, 1) or out.strides[0] != columns)


def columns_apart(call: Call) -> bool:
    return layouts(call)[0].strides[1] != 1 and shape(call)[1] > 1


def strides_differ(call: Call) -> bool:
    """Whether rows of x and of out are not equally far apart. With x's stride rows of out must not overlap, as on a GPU
    nobody knows which is written last."""
    x, out = layouts(call)
    rows, columns = shape(call)
    return rows > 1 and x.strides[0] != out.strides[0] and x.strides[0] >= columns


def beyond_32_bits(call: Call) -> bool:
    return any((shape(call)[0] - 1) * layout.strides[0] >= 2**31 for layout in layouts(call))
