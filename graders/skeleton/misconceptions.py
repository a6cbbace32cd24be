"""Known mistakes, and what each would leave in ``out``: a wrong output that equals a model is told so."""

from __future__ import annotations

import re
from functools import partial

import torch

from graders.memory import Call
from graders.misconception import Misconception
from graders.row_mistakes import contiguous_rows, out_like_x, rows_apart, strides_differ, x_of


def shares(x: torch.Tensor) -> torch.Tensor:
    total = x.abs().sum(1, keepdim=True)
    return x / total.masked_fill(total == 0, 1.0)


def signed_sum(call: Call) -> tuple[torch.Tensor, ...]:
    x = x_of(call)
    total = x.sum(1, keepdim=True)
    return (x / total.masked_fill(total == 0, 1.0),)


def without_guard(call: Call) -> tuple[torch.Tensor, ...]:
    x = x_of(call)
    return (x / x.abs().sum(1, keepdim=True),)


def has_negative(call: Call) -> bool:
    return bool((call.inputs[0].values < 0).any())


def has_zero_row(call: Call) -> bool:
    return bool((call.inputs[0].values == 0).all(1).any())


MISCONCEPTIONS: tuple[Misconception, ...] = (
    Misconception("signed_sum", has_negative, (signed_sum,), re.compile(r"tl\.sum\((?!.*abs)")),
    Misconception("zero_row", has_zero_row, (without_guard,), re.compile(r"/\s*\w")),
    Misconception(
        "stride_is_n",
        rows_apart,
        (
            partial(contiguous_rows, compute=shares, columns_too=True, x_too=True, out_too=True),
            partial(contiguous_rows, compute=shares, columns_too=False, x_too=True, out_too=False),
        ),
        re.compile(r"(row|pid)\s*\*\s*(n|N|columns)\b"),
    ),
    Misconception("out_like_x", strides_differ, (partial(out_like_x, compute=shares),), re.compile(r"tl\.store\(")),
)
