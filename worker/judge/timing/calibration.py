"""How long the judge's own device operations take when nothing else runs: a stretch is evidence.

Processes on one GPU are time-sliced: with any other kernel alive in another process, even a single spinning block,
a copy of a third of a millisecond takes several. So work that a submission does before it is told to, goes on with
after it said it was done, or leaves running beside the reference, shows in the judge's own operations.
Measured before any submission's code runs in this judge, so that no candidate can move it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

_BYTES = 1 << 30
_SCATTERED = 1 << 20
_SMALL, _LAUNCHES = 4096, 192
_REPEATS = 7
"""The least of so many is kept: whatever else is on the device can only add."""
PROBE_BYTES = 256 << 20
STRETCH = 1.25
STRETCH_FLOOR_S = 1e-3
"""A time slice of another process takes about 2 ms; switching to the judge's own, a fifth of one."""


@dataclass(frozen=True)
class Duration:
    """Of an operation: on the device, and by the clock on the wall, which has the switch to this process in it."""

    device_s: float
    wall_s: float


class DeviceClock:
    """Durations of the judge's own operations."""

    def __init__(self) -> None:
        self._start = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        self._end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]

    def timed(self, operation: Callable[..., object], *arguments: object) -> Duration:
        """Run ``operation`` and wait for the device."""
        began = time.perf_counter()
        self._start.record()
        operation(*arguments)
        self._end.record()
        self._end.synchronize()
        wall_s = time.perf_counter() - began
        return Duration(float(self._start.elapsed_time(self._end)) * 1e-3, wall_s)


@dataclass(frozen=True)
class Stretch:
    """An operation of the judge's that took longer than it can alone."""

    operation: str
    seconds: float
    expected_s: float


def stretch(operation: str, seconds: float, expected_s: float) -> Stretch | None:
    """The evidence that something else was on the device, or None."""
    if seconds <= STRETCH * expected_s + STRETCH_FLOOR_S:
        return None
    return Stretch(operation, seconds, expected_s)


@dataclass(frozen=True)
class Calibration:
    """Seconds a byte or an element for each kind of operation, and the duration of the idle probe.

    ``launch_s`` is what a small operation takes by the clock on the wall, queued behind others.
    """

    normal_s_per_byte: dict[torch.dtype, float]
    fill_s_per_byte: float
    copy_s_per_byte: float
    scatter_s_per_element: float
    launch_s: float
    probe_s: float

    @property
    def copy_bytes_per_s(self) -> float:
        """The copy limit, counting bytes read and bytes written."""
        return 2 / self.copy_s_per_byte


def calibrate(device: torch.device) -> Calibration:
    """Measure on an idle device. Takes about a tenth of a second."""
    clock = DeviceClock()
    source = torch.empty(_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    words = target.view(torch.int32)
    places = torch.randperm(words.numel(), dtype=torch.int32, device=device)[:_SCATTERED].long()

    def least_s(operation: Callable[[], object]) -> float:
        clock.timed(operation)  # the first time is slower
        return min(clock.timed(operation).device_s for _ in range(_REPEATS))

    normal = {
        dtype: least_s(source.view(dtype).normal_) / _BYTES for dtype in (torch.float16, torch.bfloat16, torch.float32)
    }
    probe_from, probe_to = source[:PROBE_BYTES], target[:PROBE_BYTES]
    return Calibration(
        normal_s_per_byte=normal,
        fill_s_per_byte=least_s(lambda: source.view(torch.int32).fill_(7)) / _BYTES,
        copy_s_per_byte=least_s(lambda: target.copy_(source)) / _BYTES,
        scatter_s_per_element=least_s(lambda: words.scatter_(0, places, places.int())) / _SCATTERED,
        launch_s=_launch_s(clock, source[:_SMALL].view(torch.float32), target[:_SMALL].view(torch.float32)),
        probe_s=least_s(lambda: probe_to.copy_(probe_from)),
    )


def _launch_s(clock: DeviceClock, small: torch.Tensor, other: torch.Tensor) -> float:
    def launch() -> None:
        for _ in range(_LAUNCHES // 3):
            small.normal_()
            other.copy_(small)
            small.fill_(0.0)

    clock.timed(launch)
    return min(clock.timed(launch).wall_s for _ in range(_REPEATS)) / _LAUNCHES
