"""Known mistakes, and what each would leave in ``out``."""

from __future__ import annotations

from functools import partial
from itertools import product

from graders.misconception import Misconception
from graders.row_mistakes import (
    FIXED_BLOCKS,
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
    strides_differ,
)
from graders.softmax_mistakes import (
    FINITE_PADDINGS,
    far_from_zero,
    has_all_inf_row,
    max_from_zero,
    padded,
    sixteen_bits,
    softmax,
    without_guard,
    without_max,
    zero_where_empty,
)

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
        every_contiguous_rows(zero_where_empty),
        r"(row\w*|pid|program_id\(0\))\s*\*\s*(n\w*|N\w*|columns|cols)\b",
    ),
    mistake(
        "column_stride_is_1", columns_apart, (partial(contiguous_columns, compute=zero_where_empty),), r"tl\.load\("
    ),
    mistake("out_like_x", strides_differ, (partial(out_like_x, compute=zero_where_empty),), r"tl\.store\("),
    mistake("int32_rows", beyond_32_bits, every_int32_rows(zero_where_empty), r"program_id\((?!.*int64)"),
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
        tuple(
            partial(capped, compute=partial(softmax, guarded=guarded), block=block)
            for block, guarded in product(FIXED_BLOCKS, EITHER)
        ),
        r"BLOCK\w*\s*=\s*\d+|\bmin\(",
    ),
)
