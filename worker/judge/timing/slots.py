"""The slots of a timed shape: inputs and outputs in an arena, with the judge's private copies beside them."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import torch

from graders.compare import compare
from graders.drill import Drill
from graders.timed import Place, TimedShape
from worker.judge.arena import Arena
from worker.judge.placement import Views, bits, poison_bits, view_message
from worker.judge.timing.calibration import Calibration

_ALIGNMENT = 2 << 20
_PEAK_LAUNCHES = 6
_DEVIATIONS = (0.5, 1.0, 3.0)
_PEAK_SHARE = 1e-3
"""In a long row it lies higher, so that exp(peak) is at least this share of what is a row's sum of exponentials: the
checks' tolerance is far below, and no element of the row is right without it."""


@dataclass(frozen=True)
class Values:
    """What the inputs of a round are drawn from."""

    mean: float
    deviation: float


class Slot:
    """One input tuple and its outputs: views into the arena, and private tensors of the same shapes."""

    def __init__(self, arena: Arena, inputs: tuple[Place, ...], outs: tuple[Place, ...], offset: int) -> None:
        self._arena, self.end = arena, offset
        self.message: Views = {"inputs": [], "outs": []}
        self.inputs = [self._view(place, "inputs") for place in inputs]
        self.outs = [self._view(place, "outs") for place in outs]
        self.private_inputs = [torch.empty(view.shape, dtype=view.dtype, device=view.device) for view in self.inputs]
        self.private_outs = [torch.empty(view.shape, dtype=view.dtype, device=view.device) for view in self.outs]

    def _view(self, place: Place, kind: str) -> torch.Tensor:
        layout, dtype = place.layout, place.dtype
        storage = self._arena.flat(self.end, layout.numel, dtype)
        bits(storage).fill_(-1)  # NaN in every float type
        self.message[kind].append(view_message(dtype, layout, self.end))
        self.end += aligned(place.nbytes)
        return layout.view(storage)


class Peaks:
    """The one element of each row that the judge changes last, in all slots at once: what was computed before is stale.

    A peak changes every output of its row, and where it lies nobody else knows.
    """

    def __init__(self, arena: Arena, views: list[torch.Tensor], heights: tuple[float, float]) -> None:
        first, self._heights = views[0], heights
        whole = arena.flat(0, arena.nbytes // first.element_size(), first.dtype)
        self._flat, self._columns, self._stride = whole, first.shape[-1], first.stride(-1)
        self._rows = torch.cat([_row_starts(view, whole) for view in views])
        self._at = torch.empty_like(self._rows)
        self._values = torch.empty(len(self._rows), dtype=first.dtype, device=first.device)

    def draw(self, privates: list[torch.Tensor], values: Values, generator: torch.Generator) -> None:
        """Choose places and heights, and change the private copies: contiguous, one a slot, in the slots' order."""
        torch.randint(self._columns, self._at.shape, generator=generator, out=self._at)
        self._values.uniform_(*self._heights, generator=generator).mul_(values.deviation)
        self._values.add_(values.mean + max(0.0, math.log(_PEAK_SHARE * self._columns)))
        count = len(self._rows) // len(privates)
        parts = zip(self._at.view(-1, count, 1), self._values.view(-1, count, 1), privates, strict=True)
        for at, heights, private in parts:
            private.view(count, -1).scatter_(1, at, heights)
        self._at.mul_(self._stride).add_(self._rows)

    def place(self) -> None:
        """Change what the contestant sees."""
        self._flat.scatter_(0, self._at, self._values)

    def __len__(self) -> int:
        return len(self._rows)


class Slots:
    """``count`` slots of a shape in a contestant's own arena."""

    def __init__(self, arena: Arena, shape: TimedShape, rows: int, count: int, generator: torch.Generator) -> None:
        inputs, outs = shape.operands(rows)
        self.arena = arena
        self.slots: list[Slot] = []
        for _ in range(count):
            self.slots.append(Slot(arena, inputs, outs, self.slots[-1].end if self.slots else 0))
        self._peaks = [
            Peaks(arena, list(views), shape.peak) for views in zip(*(slot.inputs for slot in self.slots), strict=True)
        ]
        self._out_dtypes = {place.dtype for place in outs}
        self._generator = generator
        self._means = shape.means

    def draw(self) -> Values:
        """What the next round's inputs are drawn from: no submission can know."""
        drawn = random.SystemRandom()
        return Values(drawn.choice(self._means), drawn.choice(_DEVIATIONS))

    def fill(self, values: Values) -> None:
        """Fresh values in every slot, all but the peaks, and fresh poison in its outputs."""
        poison = {dtype: poison_bits(dtype, self._generator) for dtype in self._out_dtypes}
        for slot in self.slots:
            for view, private in zip(slot.inputs, slot.private_inputs, strict=True):
                private.normal_(values.mean, values.deviation, generator=self._generator)
                view.copy_(private)
            for view in slot.outs:
                bits(view).fill_(poison[view.dtype])
        for peaks, privates in zip(self._peaks, self._private_inputs(), strict=True):
            peaks.draw(list(privates), values, self._generator)

    def fill_s(self, calibration: Calibration) -> float:
        """How long ``fill`` takes on an idle device."""
        seconds = sum(map(len, self._peaks)) * calibration.scatter_s_per_element
        for slot in self.slots:
            for private in slot.private_inputs:
                per_byte = calibration.normal_s_per_byte[private.dtype] + calibration.copy_s_per_byte
                seconds += private.nbytes * per_byte
            seconds += sum(private.nbytes for private in slot.private_outs) * calibration.fill_s_per_byte
        return max(seconds, self._fill_launches * calibration.launch_s)

    @property
    def _fill_launches(self) -> int:
        """Operations that ``fill`` puts on the device: where slots are small, they take longer than the bytes do."""
        in_slots = sum(3 * len(slot.inputs) + len(slot.outs) for slot in self.slots)
        return in_slots + _PEAK_LAUNCHES * len(self._peaks)

    def place_peaks(self) -> None:
        """The last change before go."""
        for peaks in self._peaks:
            peaks.place()

    def place_peaks_s(self, calibration: Calibration) -> float:
        return sum(map(len, self._peaks)) * calibration.scatter_s_per_element

    def copy_out(self, used: list[int]) -> None:
        """Take the outputs of the used slots into private memory, in the order given."""
        for index in used:
            slot = self.slots[index]
            for view, private in zip(slot.outs, slot.private_outs, strict=True):
                private.copy_(view)

    def copy_out_s(self, used: list[int], calibration: Calibration) -> float:
        outs = [out for index in used for out in self.slots[index].private_outs]
        return max(sum(out.nbytes for out in outs) * calibration.copy_s_per_byte, len(outs) * calibration.launch_s)

    def wrong(self, used: list[int], drill: Drill) -> int:
        """How many elements of the used slots' outputs are wrong, against inputs that nobody else could touch."""
        if drill.count_wrong is not None:
            counts = [
                drill.count_wrong(*self.slots[i].private_inputs, *self.slots[i].private_outs, drill.policy.relative)
                for i in used
            ]
            return int(torch.stack(counts).sum())
        total = 0
        for index in used:
            slot = self.slots[index]
            for got, right in zip(slot.private_outs, drill.oracle(*slot.private_inputs), strict=True):
                mismatch = compare(got, right, drill.policy)
                total += mismatch.count if mismatch else 0
        return total

    def _private_inputs(self) -> list[tuple[torch.Tensor, ...]]:
        return list(zip(*(slot.private_inputs for slot in self.slots), strict=True))


def timed_views(shape: TimedShape, rows: int) -> Views:
    """The views of a first slot, as messages have them."""
    views: Views = {"inputs": [], "outs": []}
    end = 0
    for kind, places in zip(views, shape.operands(rows), strict=True):
        for place in places:
            views[kind].append(view_message(place.dtype, place.layout, end))
            end += aligned(place.nbytes)
    return views


def storage_bytes(shape: TimedShape, rows: int) -> int:
    """What one slot takes."""
    return sum(aligned(place.nbytes) for places in shape.operands(rows) for place in places)


def aligned(nbytes: int) -> int:
    """``nbytes`` up to the next storage."""
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


def _row_starts(view: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    """Where each row of ``view`` begins, in elements from the start of ``whole``, which holds it."""
    first = (view.data_ptr() - whole.data_ptr()) // view.element_size()
    starts = torch.full((1,), first, dtype=torch.int64, device=view.device)
    for size, stride in zip(view.shape[:-1], view.stride()[:-1], strict=True):
        steps = torch.arange(size, dtype=torch.int64, device=view.device) * stride
        starts = (starts[:, None] + steps).flatten()
    return starts
