"""The arena's CUDA back end: memory of the GPU that judge and runner both map."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import torch

from worker.judge.arena import Arena
from worker.judge.masks import chunks, first_true


class DeviceArena:
    """A CUDA VMM allocation. An importer chooses its own access, so nothing in it can be made read-only.

    ``live_bytes`` and ``made_bytes`` add up the arenas of this process that exist and that ever existed.
    """

    live_bytes: ClassVar[int] = 0
    made_bytes: ClassVar[int] = 0

    def __init__(self, nbytes: int, device: torch.device) -> None:
        from worker.protocol.device_memory import DeviceMemory  # CUDA's bindings are there only where a GPU is

        torch.zeros(1, device=device)  # the context must exist
        self._memory = DeviceMemory(nbytes, device.index or 0)
        self.nbytes = self._memory.nbytes
        DeviceArena.live_bytes += self.nbytes
        DeviceArena.made_bytes += self.nbytes
        self.descriptor = self._memory.descriptor
        self.device = device
        self._bytes = torch.as_tensor(self._memory, device=device)
        self._bytes.zero_()

    def flat(self, offset: int, numel: int, dtype: torch.dtype) -> torch.Tensor:
        return self._bytes[offset : offset + numel * dtype.itemsize].view(dtype)

    def private(self, numel: int, dtype: torch.dtype) -> torch.Tensor:
        return torch.zeros(numel, dtype=dtype, device=self.device)

    def first_nonzero(self, ranges: Iterable[tuple[int, int]]) -> int | None:
        for start, end in chunks(ranges):
            # A copy: what the runner can still change is looked at once.
            found = first_true(self._bytes[start:end].clone() != 0)
            if found is not None:
                return start + found
        return None

    def close(self) -> None:
        torch.cuda.synchronize(self.device)
        del self._bytes
        self._memory.close()
        DeviceArena.live_bytes -= self.nbytes


class DeviceArenas:
    """One arena, cleared for each call: a runner maps it once, and its kernels meet the same addresses again."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._arena: DeviceArena | None = None

    def take(self, nbytes: int) -> Arena:
        if self._arena is None or self._arena.nbytes < nbytes:
            self.close()
            self._arena = DeviceArena(nbytes, self._device)
        self._arena.flat(0, nbytes, torch.uint8).zero_()
        return self._arena

    def give_back(self, arena: Arena) -> None:
        """It is kept."""

    def close(self) -> None:
        if self._arena is not None:
            self._arena.close()
            self._arena = None
