"""The GPU that is looked at is the one whose node the sandbox gets, and what it says is read as it is meant."""

from __future__ import annotations

import sys

import pytest

from tests.nvml import FakeGpu, FakeNvml, Listed, NVMLError
from worker.supervisor.nvml import DeviceUse, NvmlUnavailable, device_of_gpu, open_device


def test_the_gpu_is_found_by_its_node() -> None:
    nvml = FakeNvml(FakeGpu("GPU-b", minor=1), FakeGpu("GPU-a", minor=0))
    assert open_device(0, nvml).uuid() == "GPU-a"
    assert open_device(1, nvml).uuid() == "GPU-b"


def test_a_gpu_that_may_not_be_looked_at_hides_no_other() -> None:
    assert open_device(0, FakeNvml(FakeGpu(minor=None), FakeGpu("GPU-a", minor=0))).uuid() == "GPU-a"


def test_the_only_gpu_there_is_is_meant() -> None:
    assert open_device(0, FakeNvml(FakeGpu("GPU-a", minor=5))).uuid() == "GPU-a"


def test_no_such_gpu() -> None:
    with pytest.raises(NvmlUnavailable, match="/dev/nvidia2"):
        open_device(2, FakeNvml(FakeGpu(minor=0), FakeGpu(minor=1)))


def test_use_by_process() -> None:
    gpu = FakeGpu(used=900, computing=[Listed(7, 300), Listed(8, None)], drawing=[Listed(7, 300), Listed(9, 50)])
    assert open_device(0, FakeNvml(gpu)).use() == DeviceUse(900, {7: 300, 8: 0, 9: 50})


def test_a_driver_that_fails_is_no_exception_of_pynvml() -> None:
    def fail() -> None:
        raise NVMLError("GPU is lost")

    with pytest.raises(NvmlUnavailable, match="GPU is lost"):
        open_device(0, FakeNvml(FakeGpu(), before=fail)).use()


def test_without_the_library_there_is_no_device(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert device_of_gpu() is None
    assert "nvidia-ml-py is not installed" in caplog.text
