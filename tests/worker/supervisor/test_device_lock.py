"""Of two workers on one GPU only one grades, whoever they are and however they end."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from graders.verdict import Lane
from tests.nvml import FakeGpu, FakeNvml
from tests.worker.supervisor.measuring import NAME, GivenUp, give_up
from worker.sandbox.tier_a import as_root
from worker.supervisor.device_lock import DeviceLock, LockUnavailable, NoLock, lock_for, shared_folder
from worker.supervisor.nvml import open_device

WORKER = """
import logging, os, signal, sys
from pathlib import Path
from worker.supervisor.device_lock import DeviceLock
os.umask(0o077)
if len(sys.argv) > 3:
    os.setuid(int(sys.argv[3]))
logging.basicConfig(stream=sys.stdout, format="%(message)s")
sys.stdout.reconfigure(line_buffering=True)
with DeviceLock(sys.argv[1], Path(sys.argv[2])).held(lambda: None):
    print("grading", flush=True)
    sys.stdin.readline()
print("done", flush=True)
signal.pause()
"""


class Worker:
    """A process that takes the lock, holds it until it is told to let go, and stays."""

    def __init__(self, folder: Path, *uid: str) -> None:
        command = [sys.executable, "-c", WORKER, NAME, str(folder), *uid]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def says(self) -> str:
        assert self.process.stdout is not None
        return str(self.process.stdout.readline()).strip()

    def let_go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def workers() -> Iterator[list[Worker]]:
    workers: list[Worker] = []
    yield workers
    for worker in workers:
        worker.end()


def test_a_second_worker_waits_says_so_and_comes_next(tmp_path: Path, workers: list[Worker]) -> None:
    workers.append(Worker(tmp_path))
    assert workers[0].says() == "grading"
    workers.append(Worker(tmp_path))
    assert workers[1].says() == f"waiting: another worker is grading on this GPU ({tmp_path}/warpgrade-{NAME}.lock)"
    workers[0].let_go()
    assert workers[0].says() == "done"
    assert workers[1].says() == "grading"


def test_a_worker_that_is_killed_leaves_no_lock_behind(tmp_path: Path, workers: list[Worker]) -> None:
    workers.append(Worker(tmp_path))
    assert workers[0].says() == "grading"
    workers[0].end()
    with DeviceLock(NAME, tmp_path).held(give_up):
        pass


def test_who_waits_may_give_up(tmp_path: Path, workers: list[Worker]) -> None:
    workers.append(Worker(tmp_path))
    assert workers[0].says() == "grading"
    with pytest.raises(GivenUp), DeviceLock(NAME, tmp_path).held(give_up):
        raise AssertionError("it is held by another")


def test_the_lock_is_free_after_a_grading_that_failed(tmp_path: Path) -> None:
    lock = DeviceLock(NAME, tmp_path)
    with pytest.raises(GivenUp), lock.held(give_up):
        raise GivenUp
    with lock.held(give_up):
        pass


def test_another_gpu_is_another_lock(tmp_path: Path) -> None:
    with DeviceLock(NAME, tmp_path).held(give_up), DeviceLock("GPU-other", tmp_path).held(give_up):
        pass


@pytest.mark.skipif(not as_root(), reason="only root can be somebody else")
def test_another_user_shares_the_lock_in_a_folder_for_all(workers: list[Worker]) -> None:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    folder.chmod(0o1777)
    try:
        workers.append(Worker(folder))
        assert workers[0].says() == "grading"
        workers.append(Worker(folder, "65534"))
        assert workers[1].says().startswith("waiting")
        workers[0].let_go()
        assert workers[1].says() == "grading"
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    lock = DeviceLock(NAME, tmp_path)
    target = tmp_path / "target"
    target.write_text("precious")
    lock.path.symlink_to(target)
    with pytest.raises(LockUnavailable, match="remove it"), lock.held(give_up):
        pass
    lock.path.unlink()
    lock.path.symlink_to(tmp_path / "missing")
    with pytest.raises(LockUnavailable, match="remove it"), lock.held(give_up):
        pass
    assert not (tmp_path / "missing").exists()


def test_a_pipe_in_its_place_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    lock = DeviceLock(NAME, tmp_path)
    os.mkfifo(lock.path)
    with pytest.raises(LockUnavailable, match="no ordinary file"), lock.held(give_up):
        pass


def test_a_lock_that_was_deleted_under_its_holder_is_not_mistaken_for_the_new_one(
    tmp_path: Path, workers: list[Worker]
) -> None:
    lock = DeviceLock(NAME, tmp_path)
    with lock.held(give_up):
        workers.append(Worker(tmp_path))
        assert workers[0].says().startswith("waiting")
        lock.path.unlink()
        lock.path.write_text("")
        replaced = lock.path.stat().st_ino
    assert workers[0].says() == "grading"
    assert lock.path.stat().st_ino == replaced
    with pytest.raises(GivenUp), lock.held(give_up):
        raise AssertionError("the worker holds the new file")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(LockUnavailable, match="missing"), DeviceLock(NAME, tmp_path / "missing").held(give_up):
        pass


def test_a_name_leads_nowhere_else(tmp_path: Path) -> None:
    with pytest.raises(LockUnavailable):
        DeviceLock("../GPU", tmp_path)


def test_the_lock_of_a_lane() -> None:
    device = open_device(0, FakeNvml(FakeGpu("GPU-77")))
    on_gpu, unnamed = lock_for(Lane.GPU, device), lock_for(Lane.GPU, None)
    assert isinstance(on_gpu, DeviceLock)
    assert on_gpu.path == shared_folder() / "warpgrade-GPU-77.lock"
    assert isinstance(unnamed, DeviceLock)
    assert unnamed.path.name == "warpgrade-index-0.lock"
    interpreter = lock_for(Lane.INTERPRETER, None)
    assert isinstance(interpreter, NoLock)
    with interpreter.held(give_up), interpreter.held(give_up):
        pass


def test_in_the_shared_folder_nobody_removes_the_file_of_another() -> None:
    mode = shared_folder().stat().st_mode
    assert mode & stat.S_ISVTX or not mode & stat.S_IWOTH
