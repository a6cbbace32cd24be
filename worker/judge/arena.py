"""Memory that judge and runner both map: the host back end, a sealed memfd.

The file cannot be resized by either side (a shrunk file would fault the judge). It is sparse: only touched
pages cost memory, so a case with rows gigabytes apart is cheap.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from collections.abc import Iterator

import torch

PAGE_BYTES = mmap.PAGESIZE
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class HostArena:
    """``nbytes`` of shared memory. ``descriptor`` is what a runner needs to map it."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = -(-nbytes // PAGE_BYTES) * PAGE_BYTES or PAGE_BYTES
        self.descriptor = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, self.nbytes)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SEALS)
        self._map = mmap.mmap(self.descriptor, self.nbytes, mmap.MAP_SHARED)

    def flat(self, offset: int, numel: int, dtype: torch.dtype) -> torch.Tensor:
        """A flat tensor over ``numel`` elements that start ``offset`` bytes in."""
        return torch.frombuffer(self._map, dtype=dtype, count=numel, offset=offset)

    def touched(self) -> list[tuple[int, int]]:
        """Extents ``(start, end)`` in bytes, whole pages, that hold memory; all the rest are holes."""
        return list(self._extents())

    def _extents(self) -> Iterator[tuple[int, int]]:
        end = 0
        while end < self.nbytes:
            try:
                start = os.lseek(self.descriptor, end, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # no more data
                    return
                raise
            end = os.lseek(self.descriptor, start, os.SEEK_HOLE)
            yield start, end

    def close(self) -> None:
        """Give up the descriptor; the mapping goes with the last tensor over it."""
        os.close(self.descriptor)


def private_flat(numel: int, dtype: torch.dtype) -> torch.Tensor:
    """A flat tensor of zeros in memory of the judge's own, sparse however large it is."""
    nbytes = max(numel * dtype.itemsize, 1)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    return torch.frombuffer(mmap.mmap(-1, nbytes, flags=flags), dtype=dtype, count=numel)
