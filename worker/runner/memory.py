"""The arena as the runner sees it: tensors over memory that the judge shared."""

from __future__ import annotations

import mmap
import os
from typing import Any, Protocol

import torch


class Mapping(Protocol):
    """An arena mapped into this process."""

    def tensor(self, view: dict[str, Any]) -> torch.Tensor:
        """The strided tensor of a view: ``offset`` in bytes, everything else in elements."""
        ...


def map_arena(descriptor: int, nbytes: int, device: str) -> Mapping:
    """Map the arena behind ``descriptor``, on the host or on a GPU."""
    return HostMapping(descriptor, nbytes) if device == "cpu" else DeviceMapping(descriptor, nbytes)


class HostMapping:
    """A shared memory file mapped into this process."""

    def __init__(self, descriptor: int, nbytes: int) -> None:
        try:
            self._map = mmap.mmap(descriptor, nbytes, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        finally:
            os.close(descriptor)

    def tensor(self, view: dict[str, Any]) -> torch.Tensor:
        dtype = getattr(torch, view["dtype"])
        storage = torch.frombuffer(self._map, dtype=dtype, count=view["numel"], offset=view["offset"])
        return storage.as_strided(view["shape"], view["strides"], view["lead"])


class DeviceMapping:
    """GPU memory that the judge shared, mapped into this process. It stays mapped: tensors over it may live on."""

    def __init__(self, descriptor: int, nbytes: int) -> None:
        from worker.protocol.device_memory import DeviceMemory

        self._bytes = torch.as_tensor(DeviceMemory(nbytes, descriptor=descriptor), device="cuda")
        os.close(descriptor)

    def tensor(self, view: dict[str, Any]) -> torch.Tensor:
        dtype = getattr(torch, view["dtype"])
        end = view["offset"] + view["numel"] * dtype.itemsize
        storage = self._bytes[view["offset"] : end].view(dtype)
        return storage.as_strided(view["shape"], view["strides"], storage.storage_offset() + view["lead"])
