"""Known mistakes, and what each would leave in ``out``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import torch

from graders.memory import Call
from graders.misconception import Misconception
from graders.row_mistakes import (
    FIXED_BLOCKS,
    NAN,
    beside,
    beyond_32_bits,
    capped,
    columns_apart,
    contiguous_columns,
    every_contiguous_rows,
    every_int32_rows,
    has_16_bits,
    longer_than_a_block,
    mistake,
    out_like_x,
    ragged,
    rows_apart,
    shape,
    strides_differ,
    x_of,
)

EPS = 1e-6
SMALL_SQUARE = 0.1
"""eps changes no row by more than the tolerance whose mean square lies above."""

EITHER = (False, True)


def mean_square(x: torch.Tensor) -> torch.Tensor:
    return x.square().mean(1, keepdim=True)


def rmsnorm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x / (mean_square(x) + EPS).sqrt() * weight


def weight_of(call: Call) -> torch.Tensor:
    return beside(call)[0]


Scale = Callable[[torch.Tensor], torch.Tensor]
"""What each row is multiplied by: M×1, of the rows."""


def scaled(call: Call, scale: Scale) -> tuple[torch.Tensor, ...]:
    """Right but for the scale."""
    x = x_of(call)
    return (x * scale(x) * weight_of(call),)


# The root


def over_the_sum(x: torch.Tensor) -> torch.Tensor:
    return (x.square().sum(1, keepdim=True) + EPS).rsqrt()


def eps_outside(x: torch.Tensor) -> torch.Tensor:
    return 1 / (mean_square(x).sqrt() + EPS)


def without_eps(x: torch.Tensor) -> torch.Tensor:
    """inf, and so NaN, where a row's squares vanish in float32."""
    return 1 / mean_square(x).float().double().sqrt()


def eps_as_least(x: torch.Tensor) -> torch.Tensor:
    return mean_square(x).clamp(min=EPS).rsqrt()


def centred(call: Call, numerator_too: bool) -> tuple[torch.Tensor, ...]:
    """The variance, with the mean taken away from what is scaled or not."""
    x = x_of(call)
    deviation = x - x.mean(1, keepdim=True)
    y = deviation if numerator_too else x
    return (y * (mean_square(deviation) + EPS).rsqrt() * weight_of(call),)


def over_the_block(call: Call, block: int | None) -> tuple[torch.Tensor, ...]:
    """The mean over the padded width: a power of two, or a multiple of ``block``."""
    columns = shape(call)[1]
    width = 1 << (columns - 1).bit_length() if block is None else -(-columns // block) * block
    return scaled(call, lambda x: (x.square().sum(1, keepdim=True) / width + EPS).rsqrt())


def last_step_only(call: Call, block: int) -> tuple[torch.Tensor, ...]:
    """The sum begins anew with each step of ``block`` columns."""
    columns = shape(call)[1]
    begin = (columns - 1) // block * block
    return scaled(call, lambda x: (x[:, begin:].square().sum(1, keepdim=True) / columns + EPS).rsqrt())


def tail_lost(call: Call, block: int, out_too: bool) -> tuple[torch.Tensor, ...]:
    """Whole blocks alone are added up, and perhaps written."""
    columns = shape(call)[1]
    whole = columns // block * block
    (y,) = scaled(call, lambda x: (x[:, :whole].square().sum(1, keepdim=True) / columns + EPS).rsqrt())
    if out_too:
        y[:, whole:] = NAN
    return (y,)


# The weight


def without_weight(call: Call) -> tuple[torch.Tensor, ...]:
    x = x_of(call)
    return (rmsnorm(x, torch.ones_like(x[0])),)


def one_plus_weight(call: Call) -> tuple[torch.Tensor, ...]:
    return (rmsnorm(x_of(call), 1 + weight_of(call)),)


def weight_by_row(call: Call, strided: bool) -> tuple[torch.Tensor, ...]:
    """The weight of the row's number, found by its stride or without, and NaN beyond the last."""
    stride = call.inputs[1].layout.strides[0] if strided else 1
    row = torch.arange(shape(call)[0], device=call.storages[1].device)
    return (rmsnorm(x_of(call), call.gather(1, row * stride)[:, None]),)


def weight_side_by_side(call: Call) -> tuple[torch.Tensor, ...]:
    """Elements of the weight taken to be 1 apart."""
    column = torch.arange(shape(call)[1], device=call.storages[1].device)
    return (rmsnorm(x_of(call), call.gather(1, column)),)


def weight_of_first_block(call: Call, block: int) -> tuple[torch.Tensor, ...]:
    """Every step takes the weights of the first ``block`` columns."""
    weight = weight_of(call)
    column = torch.arange(len(weight), device=weight.device)
    return (rmsnorm(x_of(call), weight[column % block]),)


# 16 bits


def sixteen_bits(call: Call, round_sum: bool) -> tuple[torch.Tensor, ...]:
    """Squares in the input's dtype, and perhaps their sum."""
    dtype, columns = call.outs[0].dtype, shape(call)[1]

    def scale(x: torch.Tensor) -> torch.Tensor:
        total = x.square().to(dtype).double().sum(1, keepdim=True)
        return ((total.to(dtype).double() if round_sum else total) / columns + EPS).rsqrt()

    return scaled(call, scale)


def rounded_twice(call: Call) -> tuple[torch.Tensor, ...]:
    """Rounded to the output's dtype before the weight, and after it."""
    dtype = call.outs[0].dtype
    x = x_of(call)
    return (rmsnorm(x, torch.ones_like(x[0])).to(dtype).double() * weight_of(call),)


# The block


def first_block_alone(call: Call, block: int, own_width: bool) -> tuple[torch.Tensor, ...]:
    """Only the first ``block`` columns, their mean over the row's width or over what was read."""
    columns = shape(call)[1]
    width = min(block, columns) if own_width else columns

    def compute(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return x * (x.square().sum(1, keepdim=True) / width + EPS).rsqrt() * weight

    return capped(call, compute, block)


# When each can make a difference


def anywhere(call: Call) -> bool:  # noqa: ARG001
    return True


def wider_than_one(call: Call) -> bool:
    return shape(call)[1] > 1


def small(call: Call) -> bool:
    return bool((mean_square(x_of(call)) < SMALL_SQUARE).any())


def away_from_the_mean(call: Call) -> bool:
    """Whether float32 gives every element's distance from its row's mean to better than a thousandth."""
    x = x_of(call)
    mean = x.mean(1, keepdim=True)
    doubt = 3e-4 * mean.abs() + 1e-5 * x.abs().amax(1, keepdim=True)
    return bool(((x - mean).abs() >= doubt).all())


def weight_apart(call: Call) -> bool:
    return call.inputs[1].layout.strides[0] != 1


MISCONCEPTIONS: tuple[Misconception, ...] = (
    mistake("sum_for_mean", wider_than_one, (partial(scaled, scale=over_the_sum),), r"tl\.sum\("),
    mistake("eps_outside", small, (partial(scaled, scale=eps_outside),), r"sqrt\([^+]*\)\s*\+|\+\s*\w*(?i:eps)"),
    mistake("no_eps", small, (partial(scaled, scale=without_eps),), r"sqrt\((?!.*(?i:eps))"),
    mistake("eps_as_least", small, (partial(scaled, scale=eps_as_least),), r"tl\.maximum\("),
    mistake(
        "mean_subtracted",
        away_from_the_mean,
        tuple(partial(centred, numerator_too=numerator_too) for numerator_too in EITHER),
        r"-\s*(mean|mu|avg)|tl\.sum\((?!.*\*)",
    ),
    mistake(
        "padded_width",
        ragged,
        tuple(partial(over_the_block, block=block) for block in (None, *FIXED_BLOCKS)),
        r"/\s*\(?\s*BLOCK|tl\.sum\(",
    ),
    mistake(
        "last_step_only",
        longer_than_a_block,
        tuple(partial(last_step_only, block=block) for block in FIXED_BLOCKS),
        r"=\s*tl\.sum\(|=\s*x\s*\*\s*x",
    ),
    mistake(
        "tail_lost",
        ragged,
        tuple(partial(tail_lost, block=block, out_too=out_too) for block, out_too in product(FIXED_BLOCKS, EITHER)),
        r"//\s*\w",
    ),
    mistake("no_weight", anywhere, (without_weight,), r"tl\.store\("),
    mistake("one_plus_weight", anywhere, (one_plus_weight,), r"1(\.0*)?\s*\+|\+\s*1\b"),
    mistake(
        "weight_by_row",
        anywhere,
        tuple(partial(weight_by_row, strided=strided) for strided in EITHER),
        r"w\w*\s*\+\s*(row|pid)",
    ),
    mistake("weight_stride_is_1", weight_apart, (weight_side_by_side,), r"tl\.load\(w"),
    mistake(
        "weight_of_first_block",
        longer_than_a_block,
        tuple(partial(weight_of_first_block, block=block) for block in FIXED_BLOCKS),
        r"tl\.load\(w",
    ),
    mistake(
        "sixteen_bits",
        has_16_bits,
        tuple(partial(sixteen_bits, round_sum=round_sum) for round_sum in EITHER),
        r"float16|\.dtype\b|element_ty|tl\.sum\(",
    ),
    mistake("rounded_twice", has_16_bits, (rounded_twice,), r"element_ty|\.dtype\b|float16"),
    mistake(
        "block_capped",
        longer_than_a_block,
        tuple(
            partial(first_block_alone, block=block, own_width=own_width)
            for block, own_width in product(FIXED_BLOCKS, EITHER)
        ),
        r"BLOCK\w*\s*=\s*\d+|\bmin\(",
    ),
    mistake(
        "stride_is_n",
        rows_apart,
        every_contiguous_rows(rmsnorm),
        r"(row\w*|pid|program_id\(0\))\s*\*\s*(n\w*|N\w*|columns|cols)\b",
    ),
    mistake("column_stride_is_1", columns_apart, (partial(contiguous_columns, compute=rmsnorm),), r"tl\.load\(x"),
    mistake("out_like_x", strides_differ, (partial(out_like_x, compute=rmsnorm),), r"tl\.store\("),
    mistake("int32_rows", beyond_32_bits, every_int32_rows(rmsnorm), r"program_id\((?!.*int64)"),
)
