"""Bytes moved: numbers by hand, and counted. The kernels' own counts are in ``test_softmax``."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch

from reference import traffic
from reference.softmax import naive
from reference.traffic import Traffic
from tests.reference import counting


@pytest.mark.parametrize(
    ("moved", "read", "written"),
    [
        (traffic.naive(2, 3), 5 * 6 + 4, 3 * 6 + 4),
        (traffic.three_passes(2, 3), 18, 6),
        (traffic.two_passes(2, 3), 12, 6),
        (traffic.fused(2, 3), 6, 6),
        (traffic.split(2, 100, splits=4), 400 + 64, 200 + 16),
        (traffic.ring(2, 100, splits=4), 200 + 64, 200 + 16),
        (traffic.fused(0, 5), 0, 0),
    ],
    ids=["naive", "three_passes", "two_passes", "fused", "split", "ring", "empty"],
)
def test_elements_by_hand(moved: Traffic, read: int, written: int) -> None:
    assert (moved.read, moved.written, moved.elements) == (read, written, read + written)


def test_bytes_by_hand() -> None:
    assert traffic.fused(4096, 12672).bytes(4) == 415_236_096
    assert traffic.naive(2, 3).bytes(4) == (8 * 6 + 4 * 2) * 4
    assert traffic.naive(2, 3).bytes(2, scratch_itemsize=2) == (8 * 6 + 4 * 2) * 2
    assert traffic.naive(2, 3).bytes(2) == 18 * 2 + (30 + 8) * 4, "intermediates are float32"
    assert traffic.split(1, 1000, splits=2).bytes(2) == 3000 * 2 + (8 + 4) * 4
    assert traffic.split(1, 1000, splits=2).bytes(8) == 3000 * 8 + (8 + 4) * 8


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 7), (33, 100)])
def test_naive_counted_operation_by_operation(rows: int, columns: int) -> None:
    x = torch.randn(rows, columns, generator=torch.Generator().manual_seed(1))
    assert counting.of_torch(naive.softmax, x, torch.empty_like(x)) == traffic.naive(rows, columns)


class CountedRow:
    """A row that counts how many of its elements are read."""

    def __init__(self, values: list[float]) -> None:
        self._values = values
        self.reads = 0

    def read(self) -> list[float]:
        self.reads += len(self._values)
        return self._values


def test_three_passes_counted_on_a_row() -> None:
    row = CountedRow([0.5, -1.0, 2.0, 0.0])
    peak = max(row.read())
    total = sum(math.exp(value - peak) for value in row.read())
    out = [math.exp(value - peak) / total for value in row.read()]
    assert math.fsum(out) == pytest.approx(1)
    assert Traffic(x_read=row.reads, out_written=len(out)) == traffic.three_passes(1, 4)


@pytest.mark.parametrize(
    "form",
    [traffic.naive, traffic.three_passes, traffic.two_passes, traffic.split, partial(traffic.ring, splits=2)],
)
def test_nothing_moves_less_than_the_fused_form(form: object) -> None:
    assert callable(form)
    assert form(100, 1000).elements > traffic.fused(100, 1000).elements
