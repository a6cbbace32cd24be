"""Known mistakes, and what each would leave in ``out``."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import product

from graders.memory import Call
from graders.misconception import Misconception, Model
from graders.row_mistakes import (
    beyond_32_bits,
    columns_apart,
    contiguous_columns,
    contiguous_rows,
    int32_rows,
    modelled,
    out_like_x,
    rows_apart,
    shape,
    strides_differ,
)
from graders.softmax_mistakes import (
    FINITE_PADDINGS,
    FIXED_BLOCKS,
    capped,
    far_from_zero,
    has_16_bits,
    has_all_inf_row,
    max_from_zero,
    padded,
    ragged,
    sixteen_bits,
    without_guard,
    without_max,
    zero_where_empty,
)


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
            partial(contiguous_rows, compute=zero_where_empty, columns_too=columns_too, x_too=x_too, out_too=out_too)
            for columns_too, x_too, out_too in product(EITHER, EITHER, EITHER)
            if x_too or out_too
        ),
        r"(row\w*|pid|program_id\(0\))\s*\*\s*(n\w*|N\w*|columns|cols)\b",
    ),
    mistake(
        "column_stride_is_1", columns_apart, (partial(contiguous_columns, compute=zero_where_empty),), r"tl\.load\("
    ),
    mistake("out_like_x", strides_differ, (partial(out_like_x, compute=zero_where_empty),), r"tl\.store\("),
    mistake(
        "int32_rows",
        beyond_32_bits,
        tuple(
            partial(int32_rows, compute=zero_where_empty, x_too=x, out_too=out)
            for x, out in ((True, True), (True, False), (False, True))
        ),
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
