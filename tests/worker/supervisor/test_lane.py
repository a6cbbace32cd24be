"""What a worker can be is tried while nobody else uses the GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from graders.verdict import Lane
from tests.nvml import FakeGpu, FakeNvml
from tests.worker.supervisor.measuring import NAME, GivenUp, give_up
from worker.sandbox.tiers import TIER_A, Sandbox
from worker.sandbox.walls import SandboxUnavailable
from worker.supervisor import device_lock, lane
from worker.supervisor.device_lock import DeviceLock, LockUnavailable
from worker.supervisor.lane import Post, choose_post
from worker.supervisor.nvml import open_device


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeviceLock:
    """That of the GPU that this machine seems to have."""
    lock = DeviceLock(NAME, tmp_path)
    monkeypatch.setattr(lane, "gpu_nodes", lambda: ("/dev/nvidia0",))
    monkeypatch.setattr(lane, "device_of_gpu", lambda: None)
    monkeypatch.setattr(lane, "lock_for", lambda *_: lock)
    return lock


def test_what_is_tried_on_a_gpu_is_tried_alone(lock: DeviceLock, monkeypatch: pytest.MonkeyPatch) -> None:
    def tried(wanted: str, kind: str) -> Sandbox:
        assert (wanted, kind) == ("auto", "gpu")
        with pytest.raises(GivenUp), lock.held(give_up):
            raise AssertionError("it is free")
        return TIER_A

    monkeypatch.setattr(lane, "choose_sandbox", tried)
    assert choose_post("auto", "auto") == Post(Lane.GPU, TIER_A)
    with lock.held(give_up):
        pass


def test_a_gpu_is_locked_by_its_name_and_nvml_is_given_back_before_anybody_forks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvml, open_meanwhile = FakeNvml(FakeGpu(NAME)), []
    monkeypatch.setattr(lane, "gpu_nodes", lambda: ("/dev/nvidia0",))
    monkeypatch.setattr(lane, "device_of_gpu", lambda: open_device(nvml=nvml))
    monkeypatch.setattr(device_lock, "shared_folder", lambda: tmp_path)
    monkeypatch.setattr(lane, "choose_sandbox", lambda *_: open_meanwhile.append(nvml.open) or TIER_A)
    choose_post("gpu", "auto")
    assert open_meanwhile == [0]
    assert [path.name for path in tmp_path.iterdir()] == [f"warpgrade-{NAME}.lock"]


def test_a_lock_that_cannot_be_had_is_told(lock: DeviceLock) -> None:
    lock.path.mkdir()
    with pytest.raises(SandboxUnavailable, match="nothing can be tried on the GPU") as refused:
        choose_post("gpu", "auto")
    assert isinstance(refused.value.__cause__, LockUnavailable)
    assert "is no ordinary file" in str(refused.value)
