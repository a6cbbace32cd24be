"""The plot of a measurement: GB/s at each shape, by row length, beside the reference, torch and a copy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from graders.report import ShapeTiming

_LABELS, _SCALE, _RIGHT = 200.0, 440.0, 30.0
_TOP, _ROW = 10.0, 26.0
_FOOT = 24.0
_STEPS = (1, 2, 5, 10)
_MOST_TICKS = 6


@dataclass(frozen=True)
class Bar:
    """A shape: the submission as a bar, the others as marks. Places in units of the drawing."""

    label: str
    y: float
    width: float
    marks: dict[str, float]


@dataclass(frozen=True)
class Plot:
    """The whole drawing. ``ticks`` are GB/s by place."""

    bars: list[Bar]
    ticks: dict[float, int]
    left: float = _LABELS
    width: float = _LABELS + _SCALE + _RIGHT

    @property
    def bottom(self) -> float:
        return _TOP + _ROW * len(self.bars)

    @property
    def height(self) -> float:
        return self.bottom + _FOOT

    @property
    def series(self) -> list[str]:
        """The marks that any shape has, in the order of a legend."""
        return list(dict.fromkeys(name for bar in self.bars for name in bar.marks))


def speed_plot(shapes: Sequence[ShapeTiming]) -> Plot | None:
    """The shapes by row length, short rows first, or None when there are none."""
    if not shapes:
        return None
    ordered = sorted(shapes, key=lambda shape: (shape.shape[-1], shape.dtype))
    speeds = [{"submission": shape.gbps, **_others(shape)} for shape in ordered]
    step = _step(max(max(found.values()) for found in speeds))
    highest = step * math.ceil(max(max(found.values()) for found in speeds) / step)

    def place(gbps: float) -> float:
        return round(_SCALE * gbps / highest, 1)

    bars = [
        Bar(_label(shape), _TOP + _ROW * row, place(found.pop("submission")), {k: place(v) for k, v in found.items()})
        for row, (shape, found) in enumerate(zip(ordered, speeds, strict=True))
    ]
    return Plot(bars, {place(gbps): gbps for gbps in range(0, highest + 1, step)})


def _label(shape: ShapeTiming) -> str:
    return f"{' × '.join(map(str, shape.shape))} {shape.dtype}"


def _others(shape: ShapeTiming) -> dict[str, float]:
    """GB/s of the same bytes in the others' times."""
    times_us = {"reference": shape.reference_us, "torch": shape.torch_us, "copy": shape.copy_us}
    return {name: shape.gbps * shape.time_us / time_us for name, time_us in times_us.items() if time_us}


def _step(highest: float) -> int:
    """GB/s between ticks: 1, 2 or 5 times a power of ten, of which few enough reach ``highest``."""
    power: int = 10 ** max(0, math.floor(math.log10(max(highest, 1) / _MOST_TICKS)))
    return next(power * step for step in _STEPS if highest / (power * step) <= _MOST_TICKS)
