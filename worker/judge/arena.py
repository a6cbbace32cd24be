"""Memory that judge and runner both map: the interface, and the host back end."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from collections.abc import Iterable, Iterator
from typing import Protocol

import torch

from worker.judge.masks import chunks, first_true

PAGE_BYTES = mmap.PAGESIZE
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_SMALL_BYTES = 1 << 20


class Arena(Protocol):
    """``nbytes`` of zeroed shared memory. ``descriptor`` is what a runner needs to map it."""

    nbytes: int
    descriptor: int
    device: torch.device

    def flat(self, offset: int, numel: int, dtype: torch.dtype) -> torch.Tensor:
        """A flat tensor over ``numel`` elements that start ``offset`` bytes in."""
        ...

    def private(self, numel: int, dtype: torch.dtype) -> torch.Tensor:
        """A flat tensor of zeros in memory of the judge's own, on the same device."""
        ...

    def first_nonzero(self, ranges: Iterable[tuple[int, int]]) -> int | None:
        """The first byte within ``ranges`` (start, end) that is not zero."""
        ...

    def close(self) -> None:
        """Give the memory up. No tensor over it may be used any more."""
        ...


class Arenas(Protocol):
    """Where calls get their arenas from."""

    def take(self, nbytes: int) -> Arena:
        """A zeroed arena of at least ``nbytes``."""
        ...

    def give_back(self, arena: Arena) -> None: ...

    def close(self) -> None: ...


class HostArenas:
    """A fresh arena for every call: on the host it costs next to nothing."""

    def take(self, nbytes: int) -> Arena:
        return HostArena(nbytes)

    def give_back(self, arena: Arena) -> None:
        arena.close()

    def close(self) -> None:
        """Nothing is kept."""


class HostArena:
    """The host back end, a sealed memfd.

    The file cannot be resized by either side (a shrunk file would fault the judge). It is sparse: only touched
    pages cost memory, so a case with rows gigabytes apart is cheap.
    """

    device = torch.device("cpu")

    def __init__(self, nbytes: int) -> None:
        self.nbytes = -(-nbytes // PAGE_BYTES) * PAGE_BYTES or PAGE_BYTES
        self.descriptor = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, self.nbytes)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SEALS)
        self._map = mmap.mmap(self.descriptor, self.nbytes, mmap.MAP_SHARED)

    def flat(self, offset: int, numel: int, dtype: torch.dtype) -> torch.Tensor:
        return torch.frombuffer(self._map, dtype=dtype, count=numel, offset=offset)

    def private(self, numel: int, dtype: torch.dtype) -> torch.Tensor:
        """Sparse however large it is."""
        nbytes = max(numel * dtype.itemsize, 1)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
        return torch.frombuffer(mmap.mmap(-1, nbytes, flags=flags), dtype=dtype, count=numel)

    def first_nonzero(self, ranges: Iterable[tuple[int, int]]) -> int | None:
        """In a large range only pages that hold memory are looked at: a hole is zero."""
        for start, end in ranges:
            touched = [(start, end)] if end - start <= _SMALL_BYTES else self._touched(start, end)
            for first, last in chunks(touched):
                # A copy: what the runner can still change is looked at once.
                found = first_true(self.flat(first, last - first, torch.uint8).clone() != 0)
                if found is not None:
                    return first + found
        return None

    def touched(self) -> list[tuple[int, int]]:
        """Extents ``(start, end)`` in bytes, whole pages, that hold memory; all the rest are holes."""
        return list(self._touched(0, self.nbytes))

    def _touched(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        while start < end:
            try:
                first = os.lseek(self.descriptor, start, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # no more data
                    return
                raise
            start = os.lseek(self.descriptor, first, os.SEEK_HOLE)
            if first < end:
                yield first, min(start, end)

    def close(self) -> None:
        """The mapping goes with the last tensor over it."""
        os.close(self.descriptor)
