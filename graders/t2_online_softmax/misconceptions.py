"""Known mistakes, and what each would leave in ``out``. Those of the recurrence depend on the length of a block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product

import torch

from graders import row_mistakes
from graders.memory import Call
from graders.misconception import Misconception, Model
from graders.row_mistakes import (
    NAN,
    beyond_32_bits,
    capped,
    columns_apart,
    contiguous_columns,
    every_contiguous_rows,
    every_int32_rows,
    has_16_bits,
    out_like_x,
    ragged,
    rows_apart,
    shape,
    strides_differ,
    x_of,
)
from graders.softmax_mistakes import (
    FINITE_PADDINGS,
    INF,
    far_from_zero,
    max_from_zero,
    padded,
    sixteen_bits,
    without_guard,
    without_max,
    zero_where_empty,
)

BLOCKS = tuple(1 << k for k in range(8, 18))
LARGEST_MODELLED = 1 << 18
"""Elements: a row of 2^17 shows any of these mistakes, and longer ones cost seconds with every block length."""


Factor = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""What an old sum is multiplied by, of the old and the new maximum."""


def finite_base(peak: torch.Tensor) -> torch.Tensor:
    """What to subtract in exponents: 0 in place of a maximum of -inf."""
    return peak.masked_fill(peak == -INF, 0.0)


def in_range(values: torch.Tensor) -> torch.Tensor:
    """float64 with float32's range, at both ends."""
    return values.float().double()


def divided(weights: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    """Weights over a total that is a row's or a block's, 1 where that is 0."""
    return weights / total.masked_fill(total == 0, 1.0)


@dataclass(frozen=True)
class Blocks:
    """Rows cut into blocks: their entries (M×K×B, padded with -inf) and each one's maximum (M×K)."""

    x: torch.Tensor
    peaks: torch.Tensor
    columns: int

    @classmethod
    def of(cls, call: Call, block: int) -> Blocks:
        x = x_of(call)
        rows, columns = x.shape
        whole = torch.nn.functional.pad(x, (0, -columns % block), value=-INF).view(rows, -1, block)
        return cls(whole, whole.amax(2), columns)

    @property
    def running(self) -> torch.Tensor:
        """The maximum of the row up to and with each block."""
        return self.peaks.cummax(1).values

    def weights(self, peaks: torch.Tensor) -> torch.Tensor:
        """exp of the entries of each block relative to its maximum in ``peaks`` (M×K)."""
        return in_range((self.x - finite_base(peaks)[:, :, None]).exp_())

    def of_row(self, total: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The output when the row's maximum is right and its sum is ``total`` (M)."""
        weights = self.weights(self.running[:, -1:].expand_as(self.peaks))
        return (self.flat(divided(weights, total[:, None, None])),)

    def flat(self, values: torch.Tensor) -> torch.Tensor:
        """M×K×B as M×N."""
        return values.flatten(1)[:, : self.columns]


# The recurrence


def not_rescaled(old: torch.Tensor, _new: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(old)


def ratio(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    return old / finite_base(new)


def inverse_ratio(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    return finite_base(new) / old


def inverse(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    return in_range((finite_base(new) - old).exp())


def rescaled_by(call: Call, block: int, factor: Factor) -> tuple[torch.Tensor, ...]:
    """An old sum is multiplied by ``factor`` when a block is added."""
    blocks = Blocks.of(call, block)
    running = blocks.running
    sums = blocks.weights(running).sum(2)
    total = sums[:, 0]
    for step in range(1, sums.shape[1]):
        old = total * factor(running[:, step - 1], running[:, step])
        total = in_range(old.masked_fill(total == 0, 0.0) + sums[:, step])
    return blocks.of_row(total)


def max_of_last_block(call: Call, block: int) -> tuple[torch.Tensor, ...]:
    """Each block's own maximum replaces the running one: right as long as nothing overflows or vanishes."""
    blocks = Blocks.of(call, block)
    peaks, sums = blocks.peaks, blocks.weights(blocks.peaks).sum(2)
    total = sums[:, 0]
    for step in range(1, sums.shape[1]):
        factor = in_range((peaks[:, step - 1] - finite_base(peaks[:, step])).exp())
        total = in_range(total * factor + sums[:, step])
    weights = blocks.weights(peaks[:, -1:].expand_as(peaks))
    return (blocks.flat(divided(weights, total[:, None, None])),)


def old_numerators(call: Call, block: int) -> tuple[torch.Tensor, ...]:
    """The sum follows the maximum, the numerators keep the one they were computed with."""
    blocks = Blocks.of(call, block)
    running = blocks.running
    right = blocks.weights(running[:, -1:].expand_as(running)).sum((1, 2))
    return (blocks.flat(divided(blocks.weights(running), right[:, None, None])),)


# The merge of pieces


def sums_added(call: Call, block: int) -> tuple[torch.Tensor, ...]:
    """The sums of all pieces added up, each relative to its own maximum."""
    blocks = Blocks.of(call, block)
    return blocks.of_row(blocks.weights(blocks.peaks).sum((1, 2)))


def pieces_alone(call: Call, block: int) -> tuple[torch.Tensor, ...]:
    """Every piece is a softmax of its own."""
    blocks = Blocks.of(call, block)
    weights = blocks.weights(blocks.peaks)
    return (blocks.flat(divided(weights, weights.sum(2, keepdim=True))),)


def rounded_max(call: Call, block: int, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """Sums relative to a maximum in float32, which is then kept in ``dtype``."""
    blocks = Blocks.of(call, block)
    sums, kept = blocks.weights(blocks.peaks).sum(2), blocks.peaks.to(dtype).double()
    base = finite_base(kept.amax(1, keepdim=True))
    total = (sums * (kept - base).exp()).sum(1)
    weights = blocks.weights(base.expand_as(kept))
    return (blocks.flat(divided(weights, total[:, None, None])),)


# -inf and NaN


def without_guard_in_blocks(call: Call, block: int, first_only: bool) -> tuple[torch.Tensor, ...]:
    """NaN for a row whose first block, or one of whose pieces, is all -inf."""
    peaks = Blocks.of(call, block).peaks
    lost = peaks[:, 0] == -INF if first_only else (peaks == -INF).any(1)
    return (zero_where_empty(x_of(call)).masked_fill(lost[:, None], NAN),)


def zeros_for_nan(call: Call, beside_inf_only: bool) -> tuple[torch.Tensor, ...]:
    """The guard for empty rows takes NaN for one: wherever it is, or where all else is -inf."""
    x = x_of(call)
    y = zero_where_empty(x)
    lost = y.isnan().any(1)
    if beside_inf_only:
        lost &= (x.isnan() | (x == -INF)).all(1)
    return (y.masked_fill(lost[:, None], 0.0),)


# The end of a row


def tail_lost(call: Call, block: int) -> tuple[torch.Tensor, ...]:
    """Only whole blocks are read and written."""
    x = x_of(call)
    whole = x.shape[1] // block * block
    y = torch.full_like(x, NAN)
    if whole:
        y[:, :whole] = zero_where_empty(x[:, :whole])
    return (y,)


# When each can make a difference


def longer_than_a_block(call: Call) -> bool:
    return shape(call)[1] > BLOCKS[0]


def has_32_bits(call: Call) -> bool:
    return call.outs[0].dtype.itemsize == 4


def has_inf(call: Call) -> bool:
    return bool((call.inputs[0].values == -INF).any())


def has_nan_row(call: Call) -> bool:
    x = call.inputs[0].values
    return bool((x.isnan() | (x == INF)).any())


def by_block(model: Callable[..., tuple[torch.Tensor, ...]], **options: object) -> tuple[Model, ...]:
    return tuple(partial(model, block=block, **options) for block in BLOCKS)


mistake = partial(row_mistakes.mistake, largest=LARGEST_MODELLED)

EITHER = (False, True)
SHORT_TYPES = (torch.float16, torch.bfloat16)
RESCALE = r"\bl\w*\s*(\*|\+)?=|\btotal\w*\s*(\*|\+)?="

MISCONCEPTIONS: tuple[Misconception, ...] = (
    mistake("no_rescale", longer_than_a_block, by_block(rescaled_by, factor=not_rescaled), RESCALE),
    mistake(
        "rescale_by_ratio",
        longer_than_a_block,
        by_block(rescaled_by, factor=ratio) + by_block(rescaled_by, factor=inverse_ratio),
        RESCALE,
    ),
    mistake("rescale_inverted", longer_than_a_block, by_block(rescaled_by, factor=inverse), RESCALE),
    mistake("max_of_last_block", longer_than_a_block, by_block(max_of_last_block), r"tl\.max\("),
    mistake("old_numerators", longer_than_a_block, by_block(old_numerators), r"tl\.store\(|/\s*\w"),
    mistake("sums_added", longer_than_a_block, by_block(sums_added), r"tl\.sum\(|atomic_add"),
    mistake("pieces_alone", longer_than_a_block, by_block(pieces_alone), r"tl\.sum\(|/\s*\w"),
    mistake(
        "max_in_16_bits",
        has_32_bits,
        tuple(model for dtype in SHORT_TYPES for model in by_block(rounded_max, dtype=dtype)),
        r"float16|\bhalf\b|element_ty",
    ),
    mistake(
        "nan_on_leading_inf",
        has_inf,
        tuple(
            partial(without_guard_in_blocks, block=block, first_only=first_only)
            for first_only, block in product((True, False), BLOCKS[:-1])
        ),
        r"tl\.exp2?\(",
    ),
    mistake("nan_on_all_inf", has_inf, (without_guard,), r"tl\.max\(|/\s*\w"),
    mistake(
        "nan_dropped",
        has_nan_row,
        tuple(partial(zeros_for_nan, beside_inf_only=beside_inf_only) for beside_inf_only in EITHER),
        r"tl\.where\(",
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
        "padding_zero",
        ragged,
        tuple(partial(padded, value=0.0, block=block) for block in (None, *BLOCKS)),
        r"other\s*=\s*0|tl\.load\((?!.*other)",
    ),
    mistake(
        "finite_for_inf",
        ragged,
        tuple(partial(padded, value=value, block=None) for value in FINITE_PADDINGS),
        r"other\s*=\s*-\s*[\d.]|-\s*\d+\.?\d*e\d+",
    ),
    mistake(
        "one_block", longer_than_a_block, by_block(capped, compute=zero_where_empty), r"BLOCK\w*\s*=\s*\d+|\bmin\("
    ),
    mistake("tail_lost", ragged, by_block(tail_lost), r"//\s*\w"),
    mistake(
        "stride_is_n",
        rows_apart,
        every_contiguous_rows(zero_where_empty),
        r"(row\w*|pid|program_id\(0\))\s*\*\s*(n\w*|N\w*|columns|cols)\b",
    ),
    mistake(
        "column_stride_is_1", columns_apart, (partial(contiguous_columns, compute=zero_where_empty),), r"tl\.load\("
    ),
    mistake("out_like_x", strides_differ, (partial(out_like_x, compute=zero_where_empty),), r"tl\.store\("),
    mistake("int32_rows", beyond_32_bits, every_int32_rows(zero_where_empty), r"program_id\((?!.*int64)"),
    mistake(
        "sixteen_bits",
        has_16_bits,
        tuple(partial(sixteen_bits, round_difference=d, round_sum=s) for d, s in product(EITHER, EITHER)),
        r"float16|\.dtype\b|element_ty|tl\.exp2?\(",
    ),
)
