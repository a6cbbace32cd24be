"""Where something is first true, found with little memory: what is looked at may be gigabytes, and hostile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch

CHUNK = 256 << 20
"""Elements looked at at a time."""


def first_true(mask: torch.Tensor) -> int | None:
    """Where the first True of a mask of any shape stands, counted in its order; no list of all of them is made."""
    flat = mask.reshape(-1)
    for first, last in chunks([(0, len(flat))]):
        part = flat[first:last]
        if bool(part.any()):
            return first + int(part.view(torch.uint8).argmax())
    return None


def first_index(mask: torch.Tensor) -> tuple[int, ...]:
    """The index of the first True. Raises ValueError if there is none."""
    place = first_true(mask)
    if place is None:
        raise ValueError("nothing is true")
    return tuple(int(index) for index in torch.unravel_index(torch.tensor(place), mask.shape))


def chunks(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The same ranges (start, end) in pieces of at most ``CHUNK``."""
    for start, end in ranges:
        for first in range(start, end, CHUNK):
            yield first, min(first + CHUNK, end)
