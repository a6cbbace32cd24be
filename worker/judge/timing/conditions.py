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


@dataclass
class Conditions:
    """Samples of one measurement. Without NVML there are none, and nothing is called throttled."""

    _nvml: Any = None
    _handle: Any = None
    _sm_mhz: list[int] = field(default_factory=list)
    _memory_mhz: list[int] = field(default_factory=list)
    _temperature_c: list[int] = field(default_factory=list)
    _power_w: list[float] = field(default_factory=list)
    _reasons: set[str] = field(default_factory=set)
    _throttled: int = 0

    @classmethod
    def of_device(cls, index: int = 0) -> Conditions:
        with contextlib.suppress(Exception):  # a machine without the library, or a driver that does not answer
            import pynvml

            pynvml.nvmlInit()
            return cls(pynvml, pynvml.nvmlDeviceGetHandleByIndex(index))
        return cls()

    def sample(self) -> bool:
        """Look once; whether the GPU is held back now."""
        if self._nvml is None:
            return False
        nvml, handle = self._nvml, self._handle
        self._sm_mhz.append(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))
        self._memory_mhz.append(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM))
        self._temperature_c.append(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
        self._power_w.append(nvml.nvmlDeviceGetPowerUsage(handle) / 1e3)
        bits = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
        reasons = {name for bit, name in THROTTLES.items() if bits & bit}
        self._reasons |= reasons
        self._throttled += bool(reasons)
        return bool(reasons)

    def summary(self) -> DeviceConditions | None:
        """What the report keeps, or None where nothing was sampled."""
        if not self._sm_mhz:
            return None
        return DeviceConditions(
            sm_clock_mhz=statistics.median(self._sm_mhz),
            lowest_sm_clock_mhz=min(self._sm_mhz),
            memory_clock_mhz=statistics.median(self._memory_mhz),
            highest_temperature_c=max(self._temperature_c),
            highest_power_w=max(self._power_w),
            throttled_rounds=self._throttled,
            throttle_reasons=sorted(self._reasons),
        )
