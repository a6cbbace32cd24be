"""The GPU as NVML shows it to a process that never touches CUDA."""

from __future__ import annotations

import contextlib
import importlib
import logging
from dataclasses import dataclass
from typing import Any

_log = logging.getLogger(__name__)


class NvmlUnavailable(Exception):
    """NVML does not answer; the message says why."""


@dataclass(frozen=True)
class DeviceUse:
    """Device memory in use. ``by_pid`` has the processes that NVML names, numbered as it numbers them."""

    total_bytes: int
    by_pid: dict[int, int]


class NvmlDevice:
    """One GPU. Use it from one thread at a time; a call may block while the driver is busy."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle

    def close(self) -> None:
        """Give the library back: what it holds open does not survive a fork."""
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def uuid(self) -> str:
        """The identity of the GPU, the same wherever it is seen. Raises NvmlUnavailable."""
        try:
            return str(self._nvml.nvmlDeviceGetUUID(self._handle))
        except self._nvml.NVMLError as error:
            raise NvmlUnavailable(str(error)) from error

    def use(self) -> DeviceUse:
        """What is used now, and by whom. Raises NvmlUnavailable.

        A process that computes and draws stands in two lists, with all of its memory in each.
        """
        nvml, handle = self._nvml, self._handle
        by_pid: dict[int, int] = {}
        try:
            total_bytes = int(nvml.nvmlDeviceGetMemoryInfo(handle).used)
            for list_them in (nvml.nvmlDeviceGetComputeRunningProcesses, nvml.nvmlDeviceGetGraphicsRunningProcesses):
                for process in list_them(handle):
                    known = by_pid.get(int(process.pid), 0)
                    by_pid[int(process.pid)] = max(known, int(process.usedGpuMemory or 0))  # None: not to be had
        except nvml.NVMLError as error:
            raise NvmlUnavailable(str(error)) from error
        return DeviceUse(total_bytes, by_pid)


def open_device(minor: int = 0, nvml: Any = None) -> NvmlDevice:
    """The GPU whose node is ``/dev/nvidia<minor>``, which need not be NVML's own number for it.

    Raises NvmlUnavailable where the library or the driver is missing, or no such GPU is there.
    """
    if nvml is None:
        try:
            nvml = importlib.import_module("pynvml")
        except ImportError as error:
            raise NvmlUnavailable("the package nvidia-ml-py is not installed") from error
    try:
        nvml.nvmlInit()
        handles = [_handle(nvml, index) for index in range(nvml.nvmlDeviceGetCount())]
    except nvml.NVMLError as error:
        raise NvmlUnavailable(str(error)) from error
    found = [(handle, number) for handle, number in handles if handle is not None]
    for handle, number in found:
        if number == minor or len(found) == 1:
            return NvmlDevice(nvml, handle)
    raise NvmlUnavailable(f"NVML has no GPU with the node /dev/nvidia{minor}")


def _handle(nvml: Any, index: int) -> tuple[Any, int | None]:
    """A GPU and the number of its node; nothing for one that this process may not look at."""
    with contextlib.suppress(nvml.NVMLError):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        return handle, int(nvml.nvmlDeviceGetMinorNumber(handle))
    return None, None


def device_of_gpu(minor: int = 0) -> NvmlDevice | None:
    """The GPU, or None with a line in the log: what NVML would have told is done without."""
    try:
        return open_device(minor)
    except NvmlUnavailable as error:
        _log.warning("NVML: %s. Device memory is not limited, and the GPU has no name of its own here.", error)
        return None
