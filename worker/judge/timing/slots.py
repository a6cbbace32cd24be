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
_PRIVATE_ALIGNMENT = 512
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

    def __init__(
        self,
        arena: Arena,
        offset: int,
        inputs: tuple[Place, ...],
        outs: tuple[Place, ...],
        private_inputs: list[torch.Tensor],
        private_outs: list[torch.Tensor],
    ) -> None:
        self._arena, self.end = arena, offset
        self.message: Views = {"inputs": [], "outs": []}
        self.inputs = [self._view(place, "inputs") for place in inputs]
        self.outs = [self._view(place, "outs") for place in outs]
        self.private_inputs, self.private_outs = private_inputs, private_outs

    def _view(self, place: Place, kind: str) -> torch.Tensor:
        layout, dtype = place.layout, place.dtype
        storage = self._arena.flat(self.end, layout.numel, dtype)
        bits(storage).fill_(-1)  # NaN in every float type
        self.message[kind].append(view_message(dtype, layout, self.end))
        self.end += aligned(place.nbytes)
        return layout.view(storage)


@dataclass(frozen=True)
class Private:
    """Memory of the judge's own for an operand: ``flat`` is all of it, ``slots`` [count, *shape] that of each slot.

    A slot's begins at a multiple of 512 bytes, as if torch had made it alone: kernels load wide from there.
    """

    flat: torch.Tensor
    slots: torch.Tensor

    @classmethod
    def of(cls, place: Place, count: int, device: torch.device) -> Private:
        shape = torch.Size(place.layout.shape)
        step = (
            -(-shape.numel() * place.dtype.itemsize // _PRIVATE_ALIGNMENT) * _PRIVATE_ALIGNMENT // place.dtype.itemsize
        )
        flat = torch.empty(count * step, dtype=place.dtype, device=device)
        return cls(flat, flat.view(count, step)[:, : shape.numel()].view(count, *shape))


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

    def draw(self, private: torch.Tensor, values: Values, generator: torch.Generator) -> None:
        """Choose places and heights, and change the ``private`` copies: all slots', one after the other."""
        torch.randint(self._columns, self._at.shape, generator=generator, out=self._at)
        self._values.uniform_(*self._heights, generator=generator).mul_(values.deviation)
        self._values.add_(values.mean + max(0.0, math.log(_PEAK_SHARE * self._columns)))
        count = private.shape[0]
        private.view(count, len(self) // count, -1).scatter_(
            2, self._at.view(count, -1, 1), self._values.view(count, -1, 1)
        )
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
        self._private_inputs, self._private_outs = (
            [Private.of(place, count, arena.device) for place in places] for places in (inputs, outs)
        )
        self.slots: list[Slot] = []
        for index in range(count):
            offset = self.slots[-1].end if self.slots else 0
            private_inputs, private_outs = (
                [private.slots[index] for private in privates]
                for privates in (self._private_inputs, self._private_outs)
            )
            self.slots.append(Slot(arena, offset, inputs, outs, private_inputs, private_outs))
        first, step = self.slots[0], self.slots[0].end
        self._inputs, self._outs = (
            [_in_every_slot(arena, view, count, step) for view in views] for views in (first.inputs, first.outs)
        )
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
        """Fresh values in every slot, all but the peaks, and fresh poison in its outputs.

        All slots at once: how long many small operations take depends on the host, and would say nothing.
        """
        poison = {dtype: poison_bits(dtype, self._generator) for dtype in self._out_dtypes}
        for view, private, peaks in zip(self._inputs, self._private_inputs, self._peaks, strict=True):
            private.flat.normal_(values.mean, values.deviation, generator=self._generator)
            view.copy_(private.slots)
            peaks.draw(private.slots, values, self._generator)
        for view in self._outs:
            bits(view).fill_(poison[view.dtype])

    def fill_s(self, calibration: Calibration) -> float:
        """How long ``fill`` takes on an idle device."""
        seconds = sum(map(len, self._peaks)) * calibration.scatter_s_per_element
        for private in self._private_inputs:
            per_byte = calibration.normal_s_per_byte[private.flat.dtype] + calibration.copy_s_per_byte
            seconds += private.flat.nbytes * per_byte
        return seconds + sum(private.flat.nbytes for private in self._private_outs) * calibration.fill_s_per_byte

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


def _in_every_slot(arena: Arena, view: torch.Tensor, count: int, step: int) -> torch.Tensor:
    """A view of the first of ``count`` slots that lie ``step`` bytes apart, in all of them: one dimension more."""
    whole = arena.flat(0, arena.nbytes // view.element_size(), view.dtype)
    first = (view.data_ptr() - whole.data_ptr()) // view.element_size()
    strides = (step // view.element_size(), *view.stride())
    return whole.as_strided((count, *view.shape), strides, whole.storage_offset() + first)


def _row_starts(view: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    """Where each row of ``view`` begins, in elements from the start of ``whole``, which holds it."""
    first = (view.data_ptr() - whole.data_ptr()) // view.element_size()
    starts = torch.full((1,), first, dtype=torch.int64, device=view.device)
    for size, stride in zip(view.shape[:-1], view.stride()[:-1], strict=True):
        steps = torch.arange(size, dtype=torch.int64, device=view.device) * stride
        starts = (starts[:, None] + steps).flatten()
    return starts
