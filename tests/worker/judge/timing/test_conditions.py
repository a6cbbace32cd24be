"""What is known of the GPU while it is measured, whatever its driver tells."""

from __future__ import annotations

from typing import Any

from tests.nvml import NVMLError
from worker.judge.timing.conditions import Conditions


class Driver:
    """NVML with one GPU. ``fails`` has the functions that it does not support."""

    NVMLError = NVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    def __init__(self, *reasons: int, fails: str = "") -> None:
        self._reasons, self._fails = list(reasons), fails

    def __getattr__(self, name: str) -> Any:
        answers = {"GetClockInfo": 1980, "GetTemperature": 50, "GetPowerUsage": 640_000}

        def answer(*_: object) -> int:
            if name == self._fails:
                raise NVMLError("Not Supported")
            if name == "nvmlDeviceGetCurrentClocksThrottleReasons":
                return self._reasons.pop(0)
            return answers[name.removeprefix("nvmlDevice")]

        return answer


def test_a_gpu_that_was_held_back_is_told() -> None:
    conditions = Conditions(Driver(0, 0x04, 0x24), "gpu")
    assert [conditions.sample() for _ in range(3)] == [False, True, True]
    summary = conditions.summary()
    assert summary is not None
    assert (summary.throttled_rounds, summary.throttle_reasons) == (2, ["power_cap", "thermal"])
    assert (summary.sm_clock_mhz, summary.highest_temperature_c, summary.highest_power_w) == (1980, 50, 640)


def test_what_the_driver_does_not_tell_fails_no_measurement() -> None:
    conditions = Conditions(Driver(0, fails="nvmlDeviceGetPowerUsage"), "gpu")
    assert not conditions.sample()
    assert conditions.summary() is None


def test_without_nvml_nothing_is_known() -> None:
    assert not Conditions().sample()
    assert Conditions().summary() is None
