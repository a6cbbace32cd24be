"""A Triton driver for a machine without a GPU: the compiler's target is known, nothing can be launched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver


class StubDriver:
    """What ``triton.autotune`` and ``JITFunction.run`` ask of a driver; every measurement gives 1 ms, unmade."""

    def __init__(self, capability: int) -> None:
        self._target = GPUTarget("cuda", capability, 32)

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        return torch.cpu

    def get_benchmarker(self) -> Callable[..., list[float]]:
        return _benchmark

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        return torch.empty(0)

    def clear_cache(self, cache: torch.Tensor) -> None:
        """There is no cache to clear."""


def _benchmark(_call: Callable[[], Any], quantiles: list[float] | None = None, **_: Any) -> list[float]:
    return [1.0] * len(quantiles or [0.5])


def install(capability: int) -> None:
    """Make the stub Triton's active driver."""
    driver.set_active(StubDriver(capability))
