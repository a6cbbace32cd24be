"""The hidden tests: read it as a table of name, category, values, layout.

Most rows have 20,000 columns: several blocks of any sensible length, and a multiple of none. Rows are few, since the
interpreter takes more than a millisecond for every step along one.
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

N, SHORTER = 20_000, 9000
LONGEST = 1 << 20


def small_numbers(draw: Draw) -> torch.Tensor:
    return draw.uniform(4, 8, low=-3.5, high=3.5).round()


def all_equal(draw: Draw) -> torch.Tensor:
    return draw.normal(1, 1, std=3.0).expand(1, N)


# Where the maximum lies


def falling(rows: int, columns: int, height: float = 5.0) -> Values:
    """The maximum comes in the first block: nothing has to be rescaled. What asks for something else begins so."""
    return lambda draw: rising(rows, columns, height)(draw).flip(1)


def stairs(draw: Draw) -> torch.Tensor:
    """Levels of different length, up and down."""
    level = draw.uniform(1, 40, low=-15.0, high=15.0).repeat_interleave(N // 40, 1)
    return level + draw.normal(1, N, std=0.3)


def spike(height: float, first: int, last: int) -> Values:
    """One entry, between columns ``first`` and ``last``, stands out by ``height``."""

    def values(draw: Draw) -> torch.Tensor:
        x = draw.normal(1, N)
        x[0, draw.integer(first, last)] += height
        return x

    return values


def growing_spikes(draw: Draw) -> torch.Tensor:
    """Ever higher ones at random places, seldom two in a block."""
    x = draw.normal(1, N)
    for step in range(8):
        x[0, step * N // 8 + draw.integer(0, N // 8)] += 5.0 + 2.0 * step
    return x


def up_and_down(draw: Draw) -> torch.Tensor:
    """One row rises and its neighbour falls: their maxima belong to different blocks."""
    return torch.stack([rising(1, N)(draw)[0], falling(1, N, 20.0)(draw)[0]])


# -inf, NaN and +inf


def with_stretch(first: float, last: float, columns: int = N) -> Values:
    """-inf between these parts of the row, about; a random ramp elsewhere."""

    def values(draw: Draw) -> torch.Tensor:
        x = rising(1, columns)(draw)
        begin = round(first * columns) + (draw.integer(1, 400) if first else 0)
        x[:, begin : round(last * columns) - (draw.integer(1, 400) if last < 1 else 0)] = -INF
        return x

    return values


def one_finite(draw: Draw) -> torch.Tensor:
    """A single entry is finite: the first, the last, one between. The rows share no scale."""
    x = torch.full((3, SHORTER + 1), -INF, device=draw.device)
    for row, column in enumerate((0, SHORTER, draw.integer(1, SHORTER))):
        x[row, column] = float(draw.normal(1, mean=400.0 * (row - 1)))
    return x


def scattered_inf(draw: Draw) -> torch.Tensor:
    x = draw.normal(1, N, std=3.0)
    return x.masked_fill(draw.uniform(1, N, low=0.0, high=1.0) < 0.6, -INF)


def with_entry(value: float, first: int, last: int) -> Values:
    """An ordinary row, and one that has ``value`` somewhere between columns ``first`` and ``last``."""

    def values(draw: Draw) -> torch.Tensor:
        x = falling(2, SHORTER)(draw)
        x[1, draw.integer(first, last)] = value
        return x

    return values


def nan_beside_inf(draw: Draw) -> torch.Tensor:
    """NaN, and nothing but -inf beside it: no empty row, its maximum is not -inf."""
    x = falling(2, SHORTER)(draw)
    x[1] = -INF
    x[1, draw.integer(0, SHORTER)] = float("nan")
    return x


# Magnitude


def rows_of_different_scale(draw: Draw) -> torch.Tensor:
    """Rows that share no maximum: one for several of them is wrong for the others."""
    return draw.normal(3, SHORTER) + torch.tensor([[400.0], [-400.0], [0.0]], device=draw.device)


def near_minus_1e30(draw: Draw) -> torch.Tensor:
    """Below -1e30, with a maximum that stands in several places."""
    x = draw.uniform(1, N, low=-2e30, high=-1.1e30)
    x[:, :: draw.integer(500, 1500)] = -1e30
    return x


def around_30000(draw: Draw) -> torch.Tensor:
    return rising(1, N)(draw) + 30_000.0


def up_to_60000(draw: Draw) -> torch.Tensor:
    """Differences beyond the range of exp: the maximum comes early, by more than 88."""
    x = draw.uniform(1, SHORTER, low=-60_000.0, high=59_000.0)
    x[0, draw.integer(0, 1000)] = 60_000.0
    return x


CASES: tuple[Case, ...] = (
    case("small_numbers", "basic", small_numbers),
    case("random", "basic", normal(2, N, gpu_rows=257)),
    case("rising", "basic", rising(1, N)),
    case("all_equal", "basic", all_equal),
    case("ramp_up", "rescaling", rising(1, N, height=60.0)),
    case("ramp_down", "rescaling", falling(1, N, height=60.0)),
    case("up_and_down", "rescaling", up_and_down),
    case("stairs", "rescaling", stairs),
    case("growing_spikes", "rescaling", growing_spikes),
    case("late_spike_10", "rescaling", spike(10.0, N - 100, N)),
    case("late_spike_100", "rescaling", spike(100.0, N - 100, N)),
    case("early_spike_100", "rescaling", spike(100.0, 0, 30)),
    case("first_blocks", "leading_inf", late_start(2, N)),
    case("first_blocks_of_a_long_row", "leading_inf", with_stretch(0, 0.7, 100_003)),
    case("middle_blocks", "leading_inf", with_stretch(0.2, 0.9)),
    case("last_blocks", "leading_inf", with_stretch(0.15, 1)),
    case("one_finite", "leading_inf", one_finite),
    case("scattered", "leading_inf", scattered_inf),
    case("one_row", "all_inf", except_rows(falling(3, SHORTER), 1)),
    case("whole_matrix", "all_inf", except_rows(normal(2, SHORTER), 0, 1)),
    case("single_long_row", "all_inf", except_rows(normal(1, 70_000), 0)),
    case("nan_in_the_first_block", "special_values", with_entry(float("nan"), 0, 30)),
    case("nan_in_the_last_block", "special_values", with_entry(float("nan"), SHORTER - 30, SHORTER)),
    case("nan_beside_inf", "special_values", nan_beside_inf),
    case("plus_inf", "special_values", with_entry(INF, 0, SHORTER)),
    case("around_minus_5", "magnitude", normal(1, SHORTER, mean=-5.0)),
    case("around_minus_1000", "magnitude", normal(1, N, mean=-1000.0)),
    case("up_to_1000", "magnitude", uniform(1, SHORTER, -1000.0, 1000.0)),
    case("wide_spread", "magnitude", normal(1, N, std=20.0)),
    case("around_30000", "magnitude", around_30000),
    case("rows_of_different_scale", "magnitude", rows_of_different_scale),
    case("near_minus_1e30", "magnitude", near_minus_1e30),
    case("up_to_60000_fp16", "magnitude", up_to_60000, dtype="float16"),
    *(case(f"n{n}", "lengths", normal(2, n, gpu_rows=67)) for n in (1, 3, 1000, 1024, 1025, 8191, 8192, 8193)),
    case("n16385", "lengths", rising(1, 16_385)),
    case("n32769", "lengths", normal(1, 32_769, gpu_rows=33)),
    case("n131072", "long_rows", normal(1, 131_072, gpu_rows=150)),
    case("n500000", "long_rows", normal(1, 500_000)),
    case("n1048575", "long_rows", rising(8, LONGEST - 1), lanes=GPU_ONLY),
    case("n1048576", "long_rows", rising(1, LONGEST)),
    case("columns_of_32768", "strided_views", normal(2, SHORTER), spaced(32_768, offset=777)),
    case("padded_rows", "strided_views", rising(2, SHORTER + 1), spaced(9008)),
    case("every_other_column", "strided_views", normal(2, SHORTER), spaced(18_000, 2)),
    case("transposed", "strided_views", normal(3, SHORTER), transposed),
    case("out_row_stride", "strided_views", normal(2, SHORTER), out_stride=SHORTER + 480),
    case(
        "both_row_strides",
        "strided_views",
        normal(2, SHORTER, mean=-5.0),
        spaced(10_000, offset=3),
        out_stride=SHORTER + 8,
    ),
    case("column_of_a_matrix", "strided_views", normal(1, SHORTER), spaced(45_000, 5, offset=2)),
    case("far_rows_of_x", "huge", falling(3, SHORTER), with_decoy, dtype="float16"),
    case("far_rows_of_out", "huge", falling(3, SHORTER), dtype="float16", out_stride=HUGE_STRIDE, out_lead=-WRAPPED),
    case("many_elements", "huge", windows(2056, LONGEST), dtype="float16", lanes=GPU_ONLY, device_gb=40.0),
    *(case(f"random_{t}", "dtypes", normal(1, N), dtype=t) for t in ("float16", "bfloat16")),
    *(case(f"over_11_{t}", "dtypes", uniform(1, SHORTER, 11.5, 40.0), dtype=t) for t in ("float16", "bfloat16")),
    *(case(f"rising_{t}", "dtypes", rising(1, 50_000), dtype=t) for t in ("float16", "bfloat16")),
    case("x_unchanged", "contract", normal(1, N), guards_inputs=True),
    case("all_written", "contract", normal(2, SHORTER + 1), out_stride=9100),
    case("called_twice", "contract", rising(1, N), calls=2),
)
