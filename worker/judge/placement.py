"""One call laid out in an arena: inputs, poisoned outputs, guards; and what became of them.

The judge keeps a pristine private copy of everything it placed. After the call it copies the arena out, takes the
outputs, and compares all the rest byte by byte: so "not written", "written outside" and "input changed" are facts
that need no help from the runner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from graders.inputs import GUARD
from graders.memory import Call, Destination, Layout, Operand
from worker.judge.arena import PAGE_BYTES, Arena
from worker.judge.masks import first_index

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_QUIET_NAN = {
    torch.float16: (0x7E00, 9),
    torch.bfloat16: (0x7FC0, 6),
    torch.float32: (0x7FC00000, 22),
    torch.float64: (0x7FF8000000000000, 51),
}
"""Bits of a quiet NaN, and how many payload bits lie below them."""


@dataclass(frozen=True)
class OutsideWrite:
    """A byte changed that belongs to no output. ``offset`` counts elements from the first of ``tensor``."""

    tensor: str
    offset: int


@dataclass(frozen=True)
class InputChange:
    """The first element of an input that changed, by its index in the view."""

    tensor: str
    index: tuple[int, ...]


@dataclass(frozen=True)
class Collected:
    """What a call left behind: private copies of the outputs, and what it should not have done."""

    outs: tuple[torch.Tensor, ...]
    unwritten: tuple[torch.Tensor, ...]
    outside: OutsideWrite | None
    changed: InputChange | None


@dataclass(frozen=True)
class _Place:
    """One storage in the arena."""

    name: str
    dtype: torch.dtype
    layout: Layout
    offset: int
    is_out: bool
    windows: tuple[tuple[int, int], ...]

    @property
    def nbytes(self) -> int:
        return self.layout.numel * self.dtype.itemsize


def view_message(dtype: torch.dtype, layout: Layout, offset: int) -> dict[str, Any]:
    """A view as a runner is told it: ``offset`` of its storage in bytes, the rest in elements."""
    return {
        "dtype": str(dtype).removeprefix("torch."),
        "offset": offset,
        "numel": layout.numel,
        "lead": layout.lead,
        "shape": list(layout.shape),
        "strides": list(layout.strides),
    }


Views = dict[str, list[dict[str, Any]]]
"""The tensors of a call as a runner is told them: ``inputs`` and ``outs``."""


class Plan:
    """Where each storage of a call lies. The same plan serves every repetition of the call."""

    def __init__(self, call: Call, names: list[str]) -> None:
        self.places: list[_Place] = []
        end = PAGE_BYTES
        operands: tuple[Operand | Destination, ...] = (*call.inputs, *call.outs)
        for name, operand in zip(names, operands, strict=True):
            dtype = operand.values.dtype if isinstance(operand, Operand) else operand.dtype
            place = _Place(name, dtype, operand.layout, end, isinstance(operand, Destination), _windows(operand))
            self.places.append(place)
            end = -(-(end + place.nbytes) // PAGE_BYTES) * PAGE_BYTES + PAGE_BYTES
        self.nbytes = end

    def views(self) -> Views:
        """The call as a runner is told it."""
        return {
            "inputs": [_told(place) for place in self.places if not place.is_out],
            "outs": [_told(place) for place in self.places if place.is_out],
        }


class Placement:
    """A call placed into ``arena`` by ``plan``, with fresh poison in its outputs."""

    def __init__(self, arena: Arena, plan: Plan, call: Call, generator: torch.Generator) -> None:
        self._arena, self._plan = arena, plan
        self._pristine = [arena.private(place.layout.numel, place.dtype) for place in plan.places]
        self._poison: list[int] = []
        for operand, storage in zip(call.inputs, self._pristine, strict=False):
            operand.place(storage)
        for place, storage in self._outs():
            poison = poison_bits(place.dtype, generator)
            self._poison.append(poison)
            for start, length in place.windows:
                bits(storage[start : start + length]).fill_(poison)
        for place, storage in zip(plan.places, self._pristine, strict=True):
            shared = self._shared(place)
            for start, length in place.windows:
                shared[start : start + length] = storage[start : start + length]
        self.call = Call(call.inputs, call.outs, tuple(self._pristine[: len(call.inputs)]))

    def collect(self) -> Collected:
        """Copy everything out of the arena and look at it. The runner must be idle or dead."""
        outs, unwritten = [], []
        outside: OutsideWrite | None = None
        changed: InputChange | None = None
        poisons = iter(self._poison)
        for place, pristine in zip(self._plan.places, self._pristine, strict=True):
            after = self._arena.private(place.layout.numel, place.dtype)
            shared = self._shared(place)
            for start, length in place.windows:
                after[start : start + length] = shared[start : start + length]
            view = bits(place.layout.view(after))
            if place.is_out:
                outs.append(place.layout.view(after).clone(memory_format=torch.contiguous_format))
                unwritten.append(bits(outs[-1]) == next(poisons))
            elif changed is None:
                changed = _input_change(place, view, bits(place.layout.view(pristine)))
            view.copy_(bits(place.layout.view(pristine)))
            outside = outside or _outside_write(place, after, pristine)
        outside = outside or self._stray_write()
        return Collected(tuple(outs), tuple(unwritten), outside, changed)

    def _outs(self) -> list[tuple[_Place, torch.Tensor]]:
        pairs = zip(self._plan.places, self._pristine, strict=True)
        return [(place, storage) for place, storage in pairs if place.is_out]

    def _shared(self, place: _Place) -> torch.Tensor:
        return self._arena.flat(place.offset, place.layout.numel, place.dtype)

    def _stray_write(self) -> OutsideWrite | None:
        """A write where nothing was placed, between storages or in the holes of a sparse one: those bytes stay zero."""
        found = self._arena.first_nonzero(self._holes())
        if found is None:
            return None
        after = [place for place in self._plan.places if found < place.offset + place.nbytes]
        return self._outside(after[0] if after else self._plan.places[-1], found)

    def _holes(self) -> Iterator[tuple[int, int]]:
        end = 0
        for place in self._plan.places:
            for start, length in sorted(place.windows):
                first = place.offset + start * place.dtype.itemsize
                if first > end:
                    yield end, first
                end = max(end, first + length * place.dtype.itemsize)
        yield end, self._plan.nbytes

    @staticmethod
    def _outside(place: _Place, byte: int) -> OutsideWrite:
        return OutsideWrite(place.name, (byte - place.offset) // place.dtype.itemsize - place.layout.lead)


def _told(place: _Place) -> dict[str, Any]:
    return view_message(place.dtype, place.layout, place.offset)


def _windows(operand: Operand | Destination) -> tuple[tuple[int, int], ...]:
    """What of a storage is placed and compared, as ``(start, length)``: all of it, or the rows of a sparse one."""
    layout = operand.layout
    if not layout.sparse:
        return ((0, layout.numel),)
    (rows, columns), (row_stride, column_stride) = layout.shape, layout.strides
    windows = [_window(layout, layout.lead + row * row_stride, columns * column_stride) for row in range(rows)]
    decoys = operand.decoys if isinstance(operand, Operand) else ()
    windows += [_window(layout, layout.lead + decoy.offset, decoy.values.numel()) for decoy in decoys]
    return tuple(windows)


def _window(layout: Layout, start: int, length: int) -> tuple[int, int]:
    first, last = max(0, start - GUARD), min(layout.numel, start + length + GUARD)
    return first, last - first


def poison_bits(dtype: torch.dtype, generator: torch.Generator) -> int:
    """The bits of a quiet NaN with a random payload, as a signed integer of the dtype's width."""
    base, payload_bits = _QUIET_NAN[dtype]
    highest, device = 1 << min(payload_bits, 30), generator.device
    payload = int(torch.randint(1, highest, (1,), generator=generator, device=device).item())
    return base | payload


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as integers, so that NaNs compare."""
    return tensor.view(_BITS[tensor.element_size()])


def _input_change(place: _Place, after: torch.Tensor, before: torch.Tensor) -> InputChange | None:
    if torch.equal(after, before):
        return None
    return InputChange(place.name, first_index(after != before))


def _outside_write(place: _Place, after: torch.Tensor, pristine: torch.Tensor) -> OutsideWrite | None:
    """A changed element that the view does not cover; the view itself has been put back."""
    for start, length in place.windows:
        now, before = bits(after[start : start + length]), bits(pristine[start : start + length])
        if not torch.equal(now, before):
            (first,) = first_index(now != before)
            return OutsideWrite(place.name, start + first - place.layout.lead)
    return None
