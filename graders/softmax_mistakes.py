"""Mistakes that any softmax of rows can have, whichever way it goes through a row.

``guarded`` variants are those of submissions that give zeros where a row's sum is 0: the one mistake does not
exclude that the other was avoided.
"""

from __future__ import annotations

import torch

from graders.memory import Call
from graders.row_mistakes import x_of

INF = float("inf")
FINITE_PADDINGS = (-1e3, -1e4, -65504.0, -1e5, -1e6, -1e9, -1e10, -1e20, -1e30)


def softmax(x: torch.Tensor, base: torch.Tensor | None = None, *, guarded: bool = False) -> torch.Tensor:
    """exp(x - base) over its sum in each row, with float32's range; base is the row's maximum if not given."""
    base = x.amax(1, keepdim=True) if base is None else base
    if guarded:
        base = base.masked_fill(base == -INF, 0.0)
    weight = (x - base).float().exp()
    total = weight.sum(1, keepdim=True)
    return (weight / (total.masked_fill(total == 0, 1.0) if guarded else total)).double()


def zero_where_empty(x: torch.Tensor) -> torch.Tensor:
    """The right softmax, zeros for rows that are all -inf."""
    return softmax(x, guarded=True)


def peaks(call: Call) -> torch.Tensor:
    """The maximum of each row."""
    return call.inputs[0].values.amax(1).double()


# The models


def padded(call: Call, value: float, block: int | None) -> tuple[torch.Tensor, ...]:
    """Rows filled up with ``value``: to a power of two, or to a multiple of ``block``."""
    x = x_of(call)
    columns = x.shape[1]
    size = 1 << (columns - 1).bit_length() if block is None else -(-columns // block) * block
    filled = torch.nn.functional.pad(x, (0, size - columns), value=value)
    return (softmax(filled, guarded=True)[:, :columns],)


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
    """NaN where a row is all -inf."""
    return (softmax(x_of(call)),)


# When each can make a difference


def far_from_zero(call: Call) -> bool:
    peak = peaks(call)
    return bool(((peak.abs() > 60) & peak.isfinite()).any())


def has_all_inf_row(call: Call) -> bool:
    return bool((peaks(call) == -INF).any())
