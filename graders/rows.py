"""Values and places of cases whose operands are rows: the words in which a ``cases.py`` is written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from graders.cases import Case
from graders.inputs import destination, strided, vector
from graders.memory import Call, Decoy, Draw, Operand
from graders.verdict import Lane

INF = float("inf")
HUGE_STRIDE = 2**30 + 16
"""Row 2 begins at 2^31 + 32, where 32-bit offsets have wrapped; the stride itself still fits 32 bits."""

WRAPPED = 2 * HUGE_STRIDE - 2**32
"""Where a 32-bit product puts row 2: before the first row."""

GPU_ONLY = frozenset({Lane.GPU})

Values = Callable[[Draw], torch.Tensor]
Place = Callable[[torch.Tensor], Operand]
Beside = Callable[[Draw, torch.Tensor], Operand]
"""Makes a further input to stand beside a matrix, whose values it is given as stored."""


def case(
    name: str,
    category: str,
    values: Values,
    place: Place = strided,
    *,
    dtype: str = "float32",
    out_stride: int | None = None,
    out_lead: int = 0,
    beside: tuple[Beside, ...] = (),
    **options: object,
) -> Case:
    """A case that places ``values`` by ``place`` and asks for an ``out`` with rows ``out_stride`` apart."""

    def make(draw: Draw) -> Call:
        x = place(values(draw).to(getattr(torch, dtype)))
        others = (further(draw, x.values) for further in beside)
        return Call((x, *others), (destination(x, row_stride=out_stride, lead=out_lead),))

    return Case(name, category, make, dtype=dtype, **options)  # type: ignore[arg-type]


# Values


def normal(rows: int, columns: int, mean: float = 0.0, std: float = 1.0, *, gpu_rows: int | None = None) -> Values:
    return lambda draw: draw.normal(draw.rows(gpu_rows or rows, rows), columns, mean=mean, std=std)


def uniform(rows: int, columns: int, low: float, high: float) -> Values:
    return lambda draw: draw.uniform(rows, columns, low=low, high=high)


def except_rows(values: Values, *rows: int) -> Values:
    """The given rows are all -inf."""

    def changed(draw: Draw) -> torch.Tensor:
        x = values(draw)
        x[list(rows)] = -INF
        return x

    return changed


def rising(rows: int, columns: int, height: float = 20.0, std: float = 0.5) -> Values:
    """The further along the row, the larger: the maximum comes late."""
    ramp = torch.linspace(0.0, height, columns)
    return lambda draw: draw.normal(rows, columns, std=std) + ramp.to(draw.device)


def late_start(rows: int, columns: int) -> Values:
    """The first and the last row begin with a long stretch of -inf, and all of them rise."""

    def values(draw: Draw) -> torch.Tensor:
        x = rising(rows, columns)(draw)
        x[0, : columns // 2 + draw.integer(0, columns // 4)] = -INF
        x[-1, : columns - draw.integer(1, 32)] = -INF
        return x

    return values


def windows(rows: int, columns: int) -> Values:
    """Rows that each begin one further into a single random sequence: a huge matrix out of little memory.

    Without a GPU it is only compiled for, which takes no more than a row.
    """
    return lambda draw: draw.normal(draw.rows(rows, 1) + columns - 1, dtype=torch.float16).unfold(0, columns, 1)


def columnwise(mean: float = 0.0, std: float = 1.0, *, stride: int = 1) -> Beside:
    """A vector with a normal number for each column, in the matrix's dtype, its elements ``stride`` apart."""
    return lambda draw, x: vector(draw.normal(x.shape[1], mean=mean, std=std, dtype=x.dtype), stride=stride)


# Places


def with_decoy(values: torch.Tensor) -> Operand:
    """Rows 2^30+16 apart; where a wrapped offset looks for row 2 lies row 1 backwards."""
    decoy = Decoy(WRAPPED, values[1].flip(0))
    return strided(values, row_stride=HUGE_STRIDE, lead=-WRAPPED, decoys=(decoy,))


def spaced(row_stride: int, column_stride: int = 1, offset: int = 0) -> Place:
    return partial(strided, row_stride=row_stride, column_stride=column_stride, offset=offset)
