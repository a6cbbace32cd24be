"""Where a judge's tensors live: the host in the interpreter lane, a GPU in the other."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import torch

from graders.cases import Case
from graders.report import Message
from graders.verdict import Lane

HEALTH_BYTES = 1 << 20


class DeviceUnhealthy(Exception):
    """The GPU does not answer a health kernel: this worker must not judge on."""


@dataclass(frozen=True)
class Device:
    """A lane's device. ``memory_gb`` is 0 on the host; ``name`` and ``driver`` are a GPU's."""

    lane: Lane
    torch: torch.device
    memory_gb: float = 0.0
    name: str | None = None
    driver: str | None = None

    def skip_reason(self, case: Case) -> Message | None:
        """Why a case cannot be judged here, or None."""
        return case.skip_reason(self.lane, self.memory_gb)

    def synchronize(self) -> None:
        """Wait until all that this process asked of the device is done."""
        if self.torch.type == "cuda":
            torch.cuda.synchronize(self.torch)

    def require_health(self) -> None:
        """Run a small kernel and look at its result. Raises DeviceUnhealthy; the supervisor notices one that hangs."""
        if self.torch.type != "cuda":
            return
        try:
            answered = int(torch.ones(HEALTH_BYTES, dtype=torch.uint8, device=self.torch).sum()) == HEALTH_BYTES
        except RuntimeError as error:
            raise DeviceUnhealthy(str(error)) from error
        if not answered:
            raise DeviceUnhealthy("a health kernel computed a wrong sum")


def device_of(lane: Lane) -> Device:
    """The device of a lane, looked at now."""
    if lane is Lane.INTERPRETER:
        return Device(lane, torch.device("cpu"))
    device = torch.device("cuda", 0)
    properties = torch.cuda.get_device_properties(device)
    return Device(lane, device, properties.total_memory / 2**30, properties.name, _driver_version())


def _driver_version() -> str | None:
    """None where NVML is not to be had: a container may have the GPU without it."""
    try:
        import pynvml
    except ImportError:
        return None
    with contextlib.suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        try:
            return str(pynvml.nvmlSystemGetDriverVersion())
        finally:
            pynvml.nvmlShutdown()
    return None
