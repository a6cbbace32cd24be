"""The two back ends of the arena, by device."""

from __future__ import annotations

import torch

from worker.judge.arena import Arenas, HostArenas
from worker.judge.device_arena import DeviceArenas


def arenas_on(device: torch.device) -> Arenas:
    """Where calls on ``device`` get their arenas from."""
    return HostArenas() if device.type == "cpu" else DeviceArenas(device)
