"""The slots of a timed shape: inputs and outputs in an arena, with the judge's private copies beside them."""

from __future__ import annotations

import random
from typing import Any

import torch

from graders.compare import compare
from graders.drill import Drill
from graders.timed import Place, TimedShape
from worker.judge.device_arena import DeviceArena
from worker.judge.placement import bits, poison_bits, view_message
from worker.judge.timing.calibration import Calibration, DeviceClock, Stretch, stretch

_ALIGNMENT = 2 << 20


class Slot:
    """One input tuple and its outputs: views into the arena, and private tensors of the same shapes."""

    def __init__(self, arena: DeviceArena, inputs: tuple[Place, ...], outs: tuple[Place, ...], offset: int) -> None:
        self._arena, self.end = arena, offset
        self.message: dict[str, list[dict[str, Any]]] = {"inputs": [], "outs": []}
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


def aligned(nbytes: int) -> int:
    """``nbytes`` up to the next storage."""
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


class Slots:
    """``count`` slots of a shape in a contestant's own arena."""

    def __init__(
        self, arena: DeviceArena, shape: TimedShape, rows: int, count: int, generator: torch.Generator
    ) -> None:
        inputs, outs = shape.operands(rows)
        self.arena = arena
        self.slots: list[Slot] = []
        for _ in range(count):
            self.slots.append(Slot(arena, inputs, outs, self.slots[-1].end if self.slots else 0))
        self._out_dtypes = {place.dtype for place in outs}
        self._generator = generator
        self._clock = DeviceClock()

    def fill(self, calibration: Calibration, spread: float) -> Stretch | None:
        """Fresh values in every slot and fresh poison in its outputs."""
        expected_s = 0.0
        for slot in self.slots:
            for private in slot.private_inputs:
                per_byte = calibration.normal_s_per_byte[private.dtype] + calibration.copy_s_per_byte
                expected_s += private.nbytes * per_byte
            expected_s += sum(private.nbytes for private in slot.private_outs) * calibration.fill_s_per_byte
        return stretch("fill", self._clock.timed(self._fill, spread), expected_s)

    def _fill(self, spread: float) -> None:
        poison = {dtype: poison_bits(dtype, self._generator) for dtype in self._out_dtypes}
        for slot in self.slots:
            for view, private in zip(slot.inputs, slot.private_inputs, strict=True):
                private.normal_(0.0, spread, generator=self._generator)
                view.copy_(private)
            for view in slot.outs:
                bits(view).fill_(poison[view.dtype])

    def copy_out(self, used: list[int], calibration: Calibration) -> Stretch | None:
        """Take the outputs of the used slots into private memory, in random order."""
        order = random.SystemRandom().sample(used, len(used))
        expected_s = sum(out.nbytes for index in used for out in self.slots[index].private_outs)
        seconds = self._clock.timed(self._copy_out, order)
        return stretch("copy_out", seconds, expected_s * calibration.copy_s_per_byte)

    def _copy_out(self, order: list[int]) -> None:
        for index in order:
            slot = self.slots[index]
            for view, private in zip(slot.outs, slot.private_outs, strict=True):
                private.copy_(view)

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
