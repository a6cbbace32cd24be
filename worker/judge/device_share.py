"""The judge's own share of the device, kept in the ledger that its supervisor reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from worker.device_ledger import DeviceLedger
from worker.judge.device_arena import DeviceArena


class DeviceShare:
    """Says when the share of this process stands still, and how large it is then."""

    def __init__(self, ledger: DeviceLedger, device: torch.device) -> None:
        self._ledger, self._device = ledger, device

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Within, this process only waits for a runner: it takes no memory of the device and frees none."""
        self._ledger.waiting(self._private_bytes(), DeviceArena.live_bytes, DeviceArena.made_bytes)
        try:
            yield
        finally:
            self._ledger.working()

    def _private_bytes(self) -> int:
        """Asked at every call: ``memory_reserved`` says the same and flattens all other statistics first."""
        if self._device.type != "cuda":
            return 0
        statistics = torch.cuda.memory_stats_as_nested_dict(self._device)
        return int(statistics["reserved_bytes"]["all"]["current"])
