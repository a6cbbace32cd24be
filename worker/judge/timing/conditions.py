"""Clocks, temperature, power and throttling of the GPU while it is measured, as NVML has them."""

from __future__ import annotations

import contextlib
import statistics
from dataclasses import dataclass, field
from typing import Any

from graders.report import DeviceConditions

THROTTLES = {
    0x04: "power_cap",
    0x08: "hardware_slowdown",
    0x20: "thermal",
    0x40: "hardware_thermal",
    0x80: "power_brake",
}
"""Bits of ``nvmlDeviceGetCurrentClocksEventReasons`` that say the GPU was held back (nvml.h, nvmlClocksEventReason)."""


@dataclass(frozen=True)
class _Sample:
    sm_mhz: int
    memory_mhz: int
    temperature_c: int
    power_w: float
    reasons: frozenset[str]


@dataclass
class Conditions:
    """Samples of one measurement. Without NVML there are none, and nothing is called throttled."""

    _nvml: Any = None
    _handle: Any = None
    _samples: list[_Sample] = field(default_factory=list)

    @classmethod
    def of_device(cls, index: int = 0) -> Conditions:
        with contextlib.suppress(Exception):  # a machine without the library, or a driver that does not answer
            import pynvml

            pynvml.nvmlInit()
            return cls(pynvml, pynvml.nvmlDeviceGetHandleByIndex(index))
        return cls()

    def sample(self) -> bool:
        """Look once; whether the GPU is held back now. One that does not tell leaves no sample."""
        if self._nvml is None:
            return False
        try:
            sample = self._look()
        except self._nvml.NVMLError:
            return False
        self._samples.append(sample)
        return bool(sample.reasons)

    def _look(self) -> _Sample:
        nvml, handle = self._nvml, self._handle
        bits = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
        return _Sample(
            sm_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
            memory_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
            temperature_c=nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
            power_w=nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
            reasons=frozenset(name for bit, name in THROTTLES.items() if bits & bit),
        )

    def summary(self) -> DeviceConditions | None:
        """What the report keeps, or None where nothing was sampled."""
        if not self._samples:
            return None
        return DeviceConditions(
            sm_clock_mhz=statistics.median(sample.sm_mhz for sample in self._samples),
            lowest_sm_clock_mhz=min(sample.sm_mhz for sample in self._samples),
            memory_clock_mhz=statistics.median(sample.memory_mhz for sample in self._samples),
            highest_temperature_c=max(sample.temperature_c for sample in self._samples),
            highest_power_w=max(sample.power_w for sample in self._samples),
            throttled_rounds=sum(bool(sample.reasons) for sample in self._samples),
            throttle_reasons=sorted({reason for sample in self._samples for reason in sample.reasons}),
        )
