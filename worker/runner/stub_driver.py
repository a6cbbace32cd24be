"""A Triton driver for a machine without a GPU: the compiler's target is known, nothing can be launched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver


class StubDriver:
    """What ``triton.autotune`` and ``JITFunction.run`` ask of a driver; every measurement gives 1 ms.

    ``benchmarks_call`` says whether a measurement makes its call: to compile every configuration it must, to
    interpret one of them it need not.
    """

    def __init__(self, capability: int, *, benchmarks_call: bool) -> None:
        self._target = GPUTarget("cuda", capability, 32)
        self._benchmarks_call = benchmarks_call

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
        return self._benchmark

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        return torch.empty(0)

    def clear_cache(self, cache: torch.Tensor) -> None:
        """There is no cache to clear."""

    def _benchmark(self, call: Callable[[], Any], quantiles: list[float] | None = None, **_: Any) -> list[float]:
        if self._benchmarks_call:
            call()
        return [1.0] * len(quantiles or [0.5])


def install(capability: int, *, benchmarks_call: bool) -> None:
    """Make the stub Triton's active driver."""
    driver.set_active(StubDriver(capability, benchmarks_call=benchmarks_call))
