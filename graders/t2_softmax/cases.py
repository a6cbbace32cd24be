"""The hidden tests: read it as a table of name, category, values, layout.

M is kept small on the interpreter, which takes more than a millisecond a program.
"""

from __future__ import annotations

import torch

from graders.cases import Case
from graders.inputs import transposed
from graders.memory import Draw
from graders.rows import (
    GPU_ONLY,
    HUGE_STRIDE,
    INF,
    WRAPPED,
    Values,
    case,
    except_rows,
    late_start,
    normal,
    rising,
    spaced,
    uniform,
    windows,
    with_decoy,
)


def small_numbers(draw: Draw) -> torch.Tensor:
    return draw.uniform(4, 8, low=-3.5, high=3.5).round()


def all_equal(draw: Draw) -> torch.Tensor:
    return draw.normal(3, 1, std=3.0).expand(3, 1000)


def one_peak(rows: int, columns: int) -> Values:
    """All around -1000, but one entry of each row around -3."""

    def values(draw: Draw) -> torch.Tensor:
        x = draw.normal(rows, columns, mean=-1000.0)
        for row in range(rows):
            x[row, draw.integer(0, columns)] += 997.0
        return x

    return values


def rows_of_different_scale(draw: Draw) -> torch.Tensor:
    """Rows that share no maximum: one for several of them is wrong for the others."""
    return draw.normal(4, 1000) + torch.tensor([[400.0], [-400.0], [0.0], [30.0]], device=draw.device)


def near_minus_1e30(draw: Draw) -> torch.Tensor:
    """Below -1e30, with a maximum that stands in several places."""
    x = draw.uniform(3, 1000, low=-2e30, high=-1.1e30)
    x[:, :: draw.integer(5, 40)] = -1e30
    return x


def causal(draw: Draw) -> torch.Tensor:
    """Row i sees columns 0 to i."""
    return draw.normal(16, 16).masked_fill(torch.ones(16, 16, device=draw.device).triu(1).bool(), -INF)


def one_finite(draw: Draw) -> torch.Tensor:
    """A single entry is finite: the first, the last, one between. The rows share no scale."""
    x = torch.full((3, 1025), -INF, device=draw.device)
    for row, column in enumerate((0, 1024, draw.integer(1, 1024))):
        x[row, column] = float(draw.normal(1, mean=400.0 * (row - 1)))
    return x


def scattered_inf(draw: Draw) -> torch.Tensor:
    x = draw.normal(3, 781, std=3.0)
    return x.masked_fill(draw.uniform(3, 781, low=0.0, high=1.0) < 0.4, -INF)


CASES: tuple[Case, ...] = (
    case("small_numbers", "basic", small_numbers),
    case("random", "basic", normal(61, 781, gpu_rows=1823)),
    case("all_equal", "basic", all_equal),
    *(case(f"around_minus_5_n{n}", "all_negative", normal(3, n, mean=-5.0)) for n in (5, 1000, 1025)),
    *(case(f"around_minus_1000_n{n}", "all_negative", normal(3, n, mean=-1000.0)) for n in (5, 1000, 1025)),
    *(case(f"one_peak_n{n}", "all_negative", one_peak(3, n)) for n in (5, 1000, 1025)),
    case("up_to_1000", "large_magnitude", uniform(3, 1000, -1000.0, 1000.0)),
    case("wide_spread", "large_magnitude", normal(3, 781, std=20.0)),
    case("rows_of_different_scale", "large_magnitude", rows_of_different_scale),
    case("offset_30000", "large_magnitude", normal(3, 1000, mean=30_000.0)),
    case("near_minus_1e30", "large_magnitude", near_minus_1e30),
    case("up_to_60000_fp16", "large_magnitude", uniform(3, 1000, -60_000.0, 60_000.0), dtype="float16"),
    case("columns_of_4096", "strided_views", normal(3, 1000), spaced(4096)),
    case("column_offset", "strided_views", normal(3, 1000), spaced(4096, offset=777)),
    case("padded_rows", "strided_views", normal(4, 781), spaced(784)),
    case("every_other_column", "strided_views", normal(3, 1000), spaced(2000, 2)),
    case("transposed", "strided_views", normal(17, 1000), transposed),
    case("out_row_stride", "strided_views", normal(3, 1000), out_stride=1280),
    case("both_row_strides", "strided_views", normal(3, 1025, mean=-5.0), spaced(2048, offset=3), out_stride=1032),
    case("far_rows_of_x", "huge", normal(3, 1000), with_decoy, dtype="float16"),
    case("far_rows_of_out", "huge", normal(3, 1000), dtype="float16", out_stride=HUGE_STRIDE, out_lead=-WRAPPED),
    case("many_elements", "huge", windows(65_544, 32_776), dtype="float16", lanes=GPU_ONLY, device_gb=40.0),
    case("many_rows", "huge", normal(70_000, 8), lanes=GPU_ONLY),
    case("one_row", "all_inf", except_rows(normal(5, 1000), 2)),
    case("first_and_last_row", "all_inf", except_rows(normal(4, 781, mean=-5.0), 0, -1)),
    case("whole_matrix", "all_inf", except_rows(normal(2, 1024), 0, 1)),
    case("long_row", "all_inf", except_rows(rising(2, 16384), 1)),
    case("causal", "partial_inf", causal),
    case("first_block", "partial_inf", late_start(3, 5000)),
    case("first_blocks_of_a_long_row", "partial_inf", late_start(2, 65537)),
    case("one_finite", "partial_inf", one_finite),
    case("scattered", "partial_inf", scattered_inf),
    *(case(f"n{n}", "lengths", normal(3, n, gpu_rows=67)) for n in (1, 2, 3, 31, 1000, 1023, 1024, 1025)),
    *(case(f"n{n}", "lengths", normal(2, n, gpu_rows=33)) for n in (4097, 16384)),
    *(case(f"n{n}", "lengths", normal(1, n, gpu_rows=17)) for n in (50257, 65537, 100003)),
    case("maximum_comes_late", "lengths", rising(2, 10_000)),
    case("single_row", "lengths", normal(1, 781)),
    *(case(f"random_{t}", "dtypes", normal(3, 1000), dtype=t) for t in ("float16", "bfloat16")),
    *(case(f"over_11_{t}", "dtypes", uniform(3, 1000, 11.5, 40.0), dtype=t) for t in ("float16", "bfloat16")),
    *(case(f"long_rows_{t}", "dtypes", rising(2, 20_000), dtype=t) for t in ("float16", "bfloat16")),
    case("x_unchanged", "contract", normal(3, 781), guards_inputs=True),
    case("all_written", "contract", normal(5, 1025), out_stride=1100),
    case("called_twice", "contract", normal(3, 1000), calls=2),
)
