"""An NVML whose numbers the test sets: the functions of pynvml that we call, for GPUs that are not there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class NVMLError(Exception):
    """What pynvml raises."""


@dataclass
class Listed:
    """A process as NVML lists it; ``usedGpuMemory`` is None where it cannot be had."""

    pid: int
    usedGpuMemory: int | None  # noqa: N815


@dataclass
class FakeGpu:
    """One GPU: used bytes, and who computes and draws on it."""

    uuid: str = "GPU-0a1b2c3d-0000-1111-2222-333344445555"
    minor: int | None = 0
    used: int = 0
    computing: list[Listed] = field(default_factory=list)
    drawing: list[Listed] = field(default_factory=list)


class FakeNvml:
    """``before`` runs before each look at memory: it may block, or raise NVMLError as a driver does."""

    NVMLError = NVMLError

    def __init__(self, *gpus: FakeGpu, before: Callable[[], None] = lambda: None) -> None:
        self.gpus = list(gpus)
        self.before = before
        self.looks = 0
        self.open = 0

    def nvmlInit(self) -> None:  # noqa: N802
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:  # noqa: N802
        if self.gpus[index].minor is None:
            raise NVMLError("Insufficient Permissions")
        return self.gpus[index]

    def nvmlDeviceGetMinorNumber(self, handle: FakeGpu) -> int | None:  # noqa: N802
        return handle.minor

    def nvmlDeviceGetUUID(self, handle: FakeGpu) -> str:  # noqa: N802
        return handle.uuid

    def nvmlDeviceGetMemoryInfo(self, handle: FakeGpu) -> Any:  # noqa: N802
        self.looks += 1
        self.before()
        return handle

    def nvmlDeviceGetComputeRunningProcesses(self, handle: FakeGpu) -> list[Listed]:  # noqa: N802
        return list(handle.computing)

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: FakeGpu) -> list[Listed]:  # noqa: N802
        return list(handle.drawing)
