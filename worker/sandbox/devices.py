"""The device nodes that a GPU needs, and nothing else of /dev."""

from __future__ import annotations

import os
import re
from pathlib import Path

_GPU = re.compile(r"nvidia\d+")
_SHARED = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")


def gpu_nodes(dev: Path = Path("/dev")) -> tuple[str, ...]:
    """The nodes of the first GPU here; empty when there is none.

    A container that was given the third GPU of its host has /dev/nvidia2 and no other: the driver counts from what it
    finds.
    """
    numbers = [int(name[6:]) for name in os.listdir(dev) if _GPU.fullmatch(name)]
    if not numbers:
        return ()
    own = str(dev / f"nvidia{min(numbers)}")
    return (own, *(str(dev / name) for name in _SHARED if (dev / name).exists()))
