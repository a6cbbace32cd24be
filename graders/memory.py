"""Where inputs and outputs lie: views into flat storage, with all that surrounds them.

A case states values and layout; the judge places them into memory that the submission sees and,
once more, into memory that it does not. All counts are elements, not bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch


@dataclass(frozen=True)
class Layout:
    """A strided view ``(shape, strides)`` that starts ``lead`` elements into ``numel`` of storage."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    lead: int
    numel: int

    @classmethod
    def of(cls, shape: Sequence[int], strides: Sequence[int], lead: int = 0, tail: int = 0) -> Layout:
        """The smallest storage that holds the view with ``lead`` elements before and ``tail`` after it."""
        extent = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) if all(shape) else 0
        return cls(tuple(shape), tuple(strides), lead, lead + extent + tail)

    def view(self, storage: torch.Tensor) -> torch.Tensor:
        """This view of a flat ``storage`` of at least ``numel`` elements, itself perhaps a slice of a larger one."""
        return storage.as_strided(self.shape, self.strides, storage.storage_offset() + self.lead)

    @property
    def view_numel(self) -> int:
        """Elements of the view itself."""
        return math.prod(self.shape)

    @property
    def sparse(self) -> bool:
        """Whether almost none of the storage is touched: such memory is mapped, never filled or scanned whole."""
        return self.numel > SPARSE_NUMEL and self.view_numel * SPARSE_RATIO < self.numel


SPARSE_NUMEL, SPARSE_RATIO = 1 << 27, 16
"""Storages above this many elements, of which less than one in so many is in the view, keep holes around it."""


@dataclass(frozen=True)
class Decoy:
    """Values put where a mistaken address lands: ``offset`` counts from the view's first element, may be negative."""

    offset: int
    values: torch.Tensor


@dataclass(frozen=True)
class Operand:
    """An input: its values (in the dtype as stored, shape = the layout's) and what lies around them.

    ``surround`` fills the storage between and around the values (not in sparse layouts, which keep holes of 0).
    """

    values: torch.Tensor
    layout: Layout
    surround: float = float("nan")
    decoys: tuple[Decoy, ...] = ()

    def place(self, storage: torch.Tensor) -> torch.Tensor:
        """Write everything into flat ``storage`` and return the view."""
        if not self.layout.sparse:
            storage[: self.layout.numel].fill_(self.surround)
        for decoy in self.decoys:
            start = self.layout.lead + decoy.offset
            storage[start : start + decoy.values.numel()] = decoy.values.to(storage.dtype)
        view = self.layout.view(storage)
        view.copy_(self.values)
        return view


@dataclass(frozen=True)
class Destination:
    """An output: shape, dtype and layout; the storage outside the view is a guard that must stay as it was."""

    dtype: torch.dtype
    layout: Layout


@dataclass(frozen=True)
class Call:
    """One call of the entry point.

    ``storages`` is set by the judge: the pristine flat storage of each input, for models of mistaken addressing.
    """

    inputs: tuple[Operand, ...]
    outs: tuple[Destination, ...]
    storages: tuple[torch.Tensor, ...] = field(default=(), compare=False)

    def gather(self, operand: int, offsets: torch.Tensor) -> torch.Tensor:
        """What a load at ``offsets`` (elements from the view's first) returns; NaN outside the storage."""
        storage, layout = self.storages[operand], self.inputs[operand].layout
        index = offsets + layout.lead
        inside = (index >= 0) & (index < layout.numel)
        found = storage[index.clamp(0, layout.numel - 1)].double()
        return torch.where(inside, found, torch.full_like(found, float("nan")))


Make = Callable[["Draw"], Call]


@dataclass(frozen=True)
class Draw:
    """The secret randomness of one case, and the lane it is made for."""

    generator: torch.Generator
    interpreter: bool

    @property
    def device(self) -> torch.device:
        """Where the values are drawn: the generator's device."""
        return self.generator.device

    def normal(
        self, *shape: int, mean: float = 0.0, std: float = 1.0, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        drawn = torch.randn(shape, generator=self.generator, dtype=torch.float64, device=self.device)
        return (drawn * std + mean).to(dtype)

    def uniform(self, *shape: int, low: float, high: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        drawn = torch.rand(shape, generator=self.generator, dtype=torch.float64, device=self.device)
        return (drawn * (high - low) + low).to(dtype)

    def integer(self, low: int, high: int) -> int:
        """A number in ``[low, high)``."""
        return int(torch.randint(low, high, (1,), generator=self.generator, device=self.device).item())

    def rows(self, gpu: int, interpreter: int) -> int:
        """The number of rows for this lane: the interpreter takes about 1.4 ms a program."""
        return interpreter if self.interpreter else gpu
