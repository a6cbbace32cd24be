"""The hidden tests: read it as a table of name, category, values, layout.

M is kept small on the interpreter, which takes more than a millisecond a program.
"""

from __future__ import annotations

import torch

from graders import rows
from graders.cases import Case
from graders.inputs import strided, transposed, vector
from graders.memory import Draw, Operand
from graders.rows import (
    GPU_ONLY,
    HUGE_STRIDE,
    WRAPPED,
    Beside,
    Place,
    Values,
    columnwise,
    normal,
    spaced,
    uniform,
    windows,
    with_decoy,
)

WEIGHT, EVERY_OTHER = columnwise(1.0, 0.5), columnwise(1.0, 0.5, stride=2)


def case(
    name: str, category: str, values: Values, place: Place = strided, *, weight: Beside = WEIGHT, **options: object
) -> Case:
    """A case of rows beside a weight."""
    return rows.case(name, category, values, place, beside=(weight,), **options)  # type: ignore[arg-type]


def small_numbers(draw: Draw) -> torch.Tensor:
    return draw.uniform(4, 8, low=-3.5, high=3.5).round()


def halves(draw: Draw, x: torch.Tensor) -> Operand:
    """A half, 1, one and a half, …: another for each column."""
    return vector(torch.arange(1, x.shape[1] + 1, device=draw.device).to(x.dtype) / 2)


def some_zeros(draw: Draw, x: torch.Tensor) -> Operand:
    """Both signs, and every third column is switched off."""
    weight = draw.normal(x.shape[1], dtype=x.dtype)
    weight[draw.integer(0, 3) :: 3] = 0.0
    return vector(weight)


def scaled(values: Values, *scales: float) -> Values:
    """Rows of very different size, one a scale."""
    return lambda draw: values(draw) * torch.tensor(scales, device=draw.device)[:, None]


def one_peak(draw: Draw) -> torch.Tensor:
    """Ordinary rows with a single entry that outweighs all others."""
    x = draw.normal(3, 1000)
    for row in range(3):
        x[row, draw.integer(0, 1000)] = 1e6
    return x


CASES: tuple[Case, ...] = (
    case("small_numbers", "basic", small_numbers, weight=halves),
    case("random", "basic", normal(61, 781, gpu_rows=1823)),
    case("far_from_zero", "basic", normal(3, 1000, mean=5.0)),
    case("both_signs_and_zero", "weights", normal(3, 1000), weight=some_zeros),
    case("around_zero", "weights", normal(3, 1000), weight=columnwise(std=0.01)),
    case("more_rows_than_columns", "weights", normal(17, 5, mean=2.0)),
    case("every_other_element", "weights", normal(3, 1000), weight=EVERY_OTHER),
    case("column_of_a_matrix", "weights", normal(3, 781), weight=columnwise(1.0, 0.5, stride=33)),
    case("row_of_zeros", "small", scaled(normal(5, 1000), 1.0, 1.0, 0.0, 1.0, 1.0)),
    case("matrix_of_zeros", "small", scaled(normal(2, 64), 0.0, 0.0)),
    *(case(f"around_1e-{power}", "small", normal(3, 1000, std=10.0**-power)) for power in (3, 4, 12)),
    case("rows_of_different_size", "small", scaled(normal(4, 781), 100.0, 1.0, 1e-3, 1e-6)),
    case("around_1e-3_fp16", "small", normal(8, 1000, std=1e-3), dtype="float16"),
    case("up_to_1e15", "large", uniform(3, 1000, -1e15, 1e15)),
    case("one_peak", "large", one_peak),
    case("up_to_60000_fp16", "large", uniform(3, 1000, -60_000.0, 60_000.0), dtype="float16"),
    *(case(f"n{n}", "lengths", normal(3, n, mean=-5.0, std=0.5)) for n in (1, 2, 3)),
    *(case(f"n{n}", "lengths", normal(3, n, gpu_rows=67)) for n in (31, 128, 1000, 1023, 1024, 1025)),
    *(case(f"n{n}", "lengths", normal(2, n, gpu_rows=33)) for n in (4097, 8192, 16384)),
    *(case(f"n{n}", "lengths", normal(1, n, gpu_rows=17)) for n in (50257, 65537)),
    case("single_row", "lengths", normal(1, 781)),
    case("columns_of_4096", "strided_views", normal(3, 1000), spaced(4096)),
    case("column_offset", "strided_views", normal(3, 1000), spaced(4096, offset=777)),
    case("padded_rows", "strided_views", normal(4, 781), spaced(784)),
    case("every_other_column", "strided_views", normal(3, 1000), spaced(2000, 2)),
    case("transposed", "strided_views", normal(17, 1000), transposed),
    case("out_row_stride", "strided_views", normal(3, 1000), out_stride=1280),
    case("both_row_strides", "strided_views", normal(3, 1025), spaced(2048, offset=3), out_stride=1032),
    case("far_rows_of_x", "huge", normal(3, 1000, mean=0.3), with_decoy, dtype="float16"),
    case("far_rows_of_out", "huge", normal(3, 1000), dtype="float16", out_stride=HUGE_STRIDE, out_lead=-WRAPPED),
    case("many_elements", "huge", windows(65_544, 32_776), dtype="float16", lanes=GPU_ONLY, device_gb=40.0),
    case("many_rows", "huge", normal(70_000, 8), lanes=GPU_ONLY),
    *(case(f"random_{t}", "dtypes", normal(3, 1000), dtype=t) for t in ("float16", "bfloat16")),
    *(case(f"far_from_zero_{t}", "dtypes", normal(3, 1025, mean=5.0), dtype=t) for t in ("float16", "bfloat16")),
    *(case(f"long_rows_{t}", "dtypes", normal(2, 20_000), dtype=t) for t in ("float16", "bfloat16")),
    case("inputs_unchanged", "contract", normal(3, 781), guards_inputs=True),
    case("views_unchanged", "contract", normal(3, 781), spaced(784), weight=EVERY_OTHER, guards_inputs=True),
    case("all_written", "contract", normal(5, 1025), out_stride=1100),
    case("called_twice", "contract", normal(3, 1000), calls=2),
)
