"""The arena as the runner sees it: tensors over memory that the judge shared."""

from __future__ import annotations

import mmap
import os
from typing import Any

import torch


class HostMapping:
    """A shared memory file mapped into this process."""

    def __init__(self, descriptor: int, nbytes: int) -> None:
        try:
            self._map = mmap.mmap(descriptor, nbytes, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        finally:
            os.close(descriptor)

    def tensor(self, view: dict[str, Any]) -> torch.Tensor:
        """The strided tensor of a view: ``offset`` in bytes, everything else in elements."""
        dtype = getattr(torch, view["dtype"])
        storage = torch.frombuffer(self._map, dtype=dtype, count=view["numel"], offset=view["offset"])
        return storage.as_strided(view["shape"], view["strides"], view["lead"])
