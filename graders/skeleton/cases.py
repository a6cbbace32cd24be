"""The hidden tests: name, category, values, layout. M is small, since the interpreter takes a millisecond a program."""

from __future__ import annotations

import torch

from graders.cases import Case
from graders.inputs import transposed
from graders.memory import Draw
from graders.rows import Values, case, normal, spaced, uniform


def mixed(rows: int, columns: int, gpu_rows: int | None = None) -> Values:
    """Both signs, but more of one: no row's sum is next to 0, where it would depend on the order."""
    return normal(rows, columns, mean=0.5, gpu_rows=gpu_rows)


def with_zero_rows(values: Values, *rows: int) -> Values:
    """The given rows are all 0."""

    def changed(draw: Draw) -> torch.Tensor:
        x = values(draw)
        x[list(rows)] = 0.0
        return x

    return changed


CASES: tuple[Case, ...] = (
    case("positive", "basic", uniform(4, 5, 0.5, 4.0)),
    case("random", "basic", mixed(17, 100, gpu_rows=1823)),
    case("n1", "lengths", normal(3, 1, mean=-5.0, std=0.5)),
    case("n1000", "lengths", mixed(3, 1000)),
    case("n1025", "lengths", mixed(3, 1025)),
    case("n5000", "lengths", mixed(2, 5000, gpu_rows=33)),
    case("columns_of_512", "views", mixed(4, 100), spaced(512, offset=7)),
    case("every_other_column", "views", mixed(4, 100), spaced(200, 2)),
    case("transposed", "views", mixed(5, 64), transposed),
    case("out_row_stride", "views", mixed(4, 100), out_stride=128),
    case("one_row", "zero_rows", with_zero_rows(mixed(4, 100), 2)),
    case("all_rows", "zero_rows", with_zero_rows(mixed(2, 64), 0, 1)),
    case("random_float16", "dtypes", mixed(4, 1000), dtype="float16"),
    case("random_bfloat16", "dtypes", mixed(4, 1000), dtype="bfloat16"),
    case("x_unchanged", "contract", mixed(4, 64), guards_inputs=True),
    case("called_twice", "contract", mixed(4, 64), calls=2),
)
