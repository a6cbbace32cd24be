"""Where the plot of a measurement puts what."""

from __future__ import annotations

import pytest

from app.pages.speed_plot import speed_plot
from graders.report import ShapeTiming


def timing(columns: int, gbps: float, **others: float) -> ShapeTiming:
    """A shape of 8 rows whose call takes 100 µs."""
    whole = {"name": "s", "shape": [8, columns], "dtype": "float32", "time_us": 100.0, "spread": 0.01, "rounds": 9}
    whole |= {"ratio": 1.0, "half_width": 0.004, "fraction_of_copy": 0.9, "reference_us": 100.0}
    return ShapeTiming.model_validate(whole | {"gbps": gbps} | others)


def test_short_rows_come_first() -> None:
    plot = speed_plot([timing(4096, 1000), timing(256, 1000), timing(1000, 1000)])
    assert plot is not None
    assert [bar.label for bar in plot.bars] == [f"8 × {n} float32" for n in (256, 1000, 4096)]
    assert [bar.y for bar in plot.bars] == sorted(bar.y for bar in plot.bars)
    assert plot.bars[-1].y < plot.bottom < plot.height


def test_the_others_stand_where_the_same_bytes_in_their_time_put_them() -> None:
    plot = speed_plot([timing(256, 2000, reference_us=50.0, torch_us=200.0, copy_us=40.0)])
    assert plot is not None
    (bar,) = plot.bars
    assert plot.series == ["reference", "torch", "copy"]
    assert [mark / bar.width for mark in bar.marks.values()] == pytest.approx([2, 0.5, 2.5], rel=1e-3)
    assert max(bar.marks.values()) <= plot.width - plot.left


def test_what_was_not_measured_has_no_mark() -> None:
    plot = speed_plot([timing(256, 2000)])
    assert plot is not None
    assert plot.series == ["reference"]
    assert speed_plot([]) is None


@pytest.mark.parametrize(
    ("gbps", "ticks"),
    [
        (4070.0, [0, 1000, 2000, 3000, 4000, 5000]),
        (3000.0, [0, 500, 1000, 1500, 2000, 2500, 3000]),
        (31.0, [0, 10, 20, 30, 40]),
        (0.4, [0, 1]),
    ],
)
def test_ticks_are_round_and_few(gbps: float, ticks: list[int]) -> None:
    plot = speed_plot([timing(256, gbps)])
    assert plot is not None
    assert list(plot.ticks.values()) == ticks
    assert plot.bars[0].width <= max(plot.ticks)
