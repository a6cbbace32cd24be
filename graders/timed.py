"""A shape whose speed is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from graders.inputs import GUARD
from graders.memory import Layout


@dataclass(frozen=True)
class Place:
    """An input, which the judge fills with random numbers, or an output."""

    dtype: torch.dtype
    layout: Layout

    @property
    def nbytes(self) -> int:
        """Of the whole storage."""
        return self.layout.numel * self.dtype.itemsize


MEANS = (-120.0, 0.0, 100.0)
PEAK = (3.0, 8.0)


@dataclass(frozen=True)
class TimedShape:
    """M rows and N columns of a dtype, M as large as the target has room for.

    ``operands`` makes inputs and outputs for a number of rows; ``bytes_moved`` is the least that any kernel must
    read and write for one call. Inputs are normal random numbers around one of ``means``, drawn for each round. Then
    one element of each row is changed to lie higher by as many standard deviations as ``peak`` says, from and to: it
    should make wrong whatever was computed of the row before.
    """

    name: str
    rows: int
    columns: int
    dtype: torch.dtype
    operands: Callable[[int], tuple[tuple[Place, ...], tuple[Place, ...]]]
    means: tuple[float, ...] = MEANS
    peak: tuple[float, float] = PEAK

    def bytes_moved(self, rows: int) -> int:
        inputs, outs = self.operands(rows)
        return sum(place.layout.view_numel * place.dtype.itemsize for place in (*inputs, *outs))


def rowwise(
    name: str,
    rows: int,
    columns: int,
    dtype: torch.dtype,
    *,
    row_stride: int | None = None,
    vectors: int = 0,
    means: tuple[float, ...] = MEANS,
    peak: tuple[float, float] = PEAK,
) -> TimedShape:
    """One M×N input and an output of the same shape; the input's rows ``row_stride`` apart, contiguous without it.

    So many ``vectors`` of N elements, contiguous, are further inputs.
    """

    def operands(wanted: int) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
        shape = (wanted, columns)
        x = Layout.of(shape, (row_stride or columns, 1), GUARD, GUARD)
        out = Layout.of(shape, (columns, 1), GUARD, GUARD)
        beside = Place(dtype, Layout.of((columns,), (1,), GUARD, GUARD))
        return (Place(dtype, x), *[beside] * vectors), (Place(dtype, out),)

    return TimedShape(name, rows, columns, dtype, operands, means, peak)
