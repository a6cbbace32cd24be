"""What warms up and what is measured keep each other out, whoever they are and however they end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from graders.verdict import Lane
from tests.worker.supervisor.measuring import GivenUp, give_up, measuring, never, warm_ups_in
from worker.supervisor.device_lock import DeviceLock, LockUnavailable, lock_for
from worker.supervisor.warm_ups import NoWarmUps, WarmUp, WarmUps, warm_ups_beside

WARMING = """
import sys
from worker.protocol.warming import end_warm_up
sys.stdin.readline()
end_warm_up(sys.argv[1:])
print("warm", flush=True)
sys.stdin.read()
"""


class Warming:
    """A process that warms up until it is told that it is warm, and stays."""

    def __init__(self, warm_up: WarmUp) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WARMING, *warm_up.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=warm_up.descriptors,
        )

    def gets_warm(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "warm\n"

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def warm_ups(tmp_path: Path) -> WarmUps:
    return warm_ups_in(tmp_path)


@pytest.fixture
def warming() -> Iterator[list[Warming]]:
    processes: list[Warming] = []
    yield processes
    for process in processes:
        process.end()


def begin(warm_ups: WarmUps) -> Warming:
    with warm_ups.begun() as warm_up:
        assert warm_up is not None
        return Warming(warm_up)


def may_begin(warm_ups: WarmUps) -> bool:
    with warm_ups.begun() as warm_up:
        return warm_up is not None


def test_many_warm_up_at_once_and_the_last_one_lets_measure(
    tmp_path: Path, warm_ups: WarmUps, warming: list[Warming]
) -> None:
    other = warm_ups_in(tmp_path)
    warming += [begin(warm_ups), begin(warm_ups), begin(other)]
    for process in warming:
        assert not other.keep_out(0, never)
        process.gets_warm()
    assert other.keep_out(0, never)
    assert not may_begin(warm_ups)
    assert not may_begin(other), "not for who measures either"
    other.let_in()
    assert may_begin(warm_ups)


def test_who_dies_warming_up_lets_measure(warm_ups: WarmUps, warming: list[Warming]) -> None:
    warming.append(begin(warm_ups))
    assert not warm_ups.keep_out(0, never)
    warming[0].end()
    assert warm_ups.keep_out(0, never)


def test_who_is_warm_lets_measure_although_another_has_a_copy(warm_ups: WarmUps, warming: list[Warming]) -> None:
    with warm_ups.begun() as warm_up:
        assert warm_up is not None
        warming.append(Warming(warm_up))
        warming[0].gets_warm()
        assert warm_ups.keep_out(0, never)


def test_who_measures_and_is_killed_lets_warm_up(tmp_path: Path, warm_ups: WarmUps) -> None:
    with measuring(tmp_path) as worker:
        assert not may_begin(warm_ups)
        worker.kill()
        worker.communicate()
        assert may_begin(warm_ups)


def test_who_waits_comes_next_and_keeps_the_lock_until_it_lets_in(
    tmp_path: Path, warm_ups: WarmUps, warming: list[Warming]
) -> None:
    warming.append(begin(warm_ups))
    told: list[bool] = []

    def waiting() -> None:
        if not told:
            warming[0].gets_warm()
        told.append(True)

    assert warm_ups.keep_out(60, waiting)
    assert told
    assert warm_ups.keep_out(0, give_up), "it has it already"
    assert not may_begin(warm_ups_in(tmp_path))
    warm_ups.let_in()
    warm_ups.let_in()
    assert may_begin(warm_ups_in(tmp_path))


def test_who_waits_may_give_up(warm_ups: WarmUps, warming: list[Warming]) -> None:
    warming.append(begin(warm_ups))
    with pytest.raises(GivenUp):
        warm_ups.keep_out(60, give_up)
    warming[0].gets_warm()
    assert warm_ups.keep_out(0, never), "nothing was left behind"


def test_what_does_not_get_warm_is_waited_for_no_longer_than_told(warm_ups: WarmUps, warming: list[Warming]) -> None:
    warming.append(begin(warm_ups))
    assert not warm_ups.keep_out(0.1, never)
    assert not warm_ups.keep_out(-1, give_up)


def test_a_block_that_fails_leaves_nothing_behind(warm_ups: WarmUps) -> None:
    with pytest.raises(GivenUp), warm_ups.begun():
        raise GivenUp
    assert warm_ups.keep_out(0, never)


def test_a_file_that_was_deleted_is_not_mistaken_for_the_new_one(tmp_path: Path, warm_ups: WarmUps) -> None:
    other = warm_ups_in(tmp_path)
    assert warm_ups.keep_out(0, never)
    warm_ups.path.unlink()
    assert other.keep_out(0, never), "of the new file"
    warm_ups.let_in()
    assert not may_begin(warm_ups)
    other.let_in()
    assert may_begin(warm_ups)


def test_a_lock_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    missing = warm_ups_in(tmp_path / "missing")
    with pytest.raises(LockUnavailable, match="missing"):
        missing.keep_out(0, never)
    warm_ups = warm_ups_in(tmp_path)
    os.mkfifo(warm_ups.path)
    with pytest.raises(LockUnavailable, match="no ordinary file"), warm_ups.begun():
        pass


def test_those_of_a_lane() -> None:
    lock = lock_for(Lane.GPU, None)
    assert isinstance(lock, DeviceLock)
    on_gpu = warm_ups_beside(lock)
    assert isinstance(on_gpu, WarmUps)
    assert on_gpu.path == lock.path.parent / "warpgrade-index-0.warm-ups.lock"
    interpreter = warm_ups_beside(lock_for(Lane.INTERPRETER, None))
    assert isinstance(interpreter, NoWarmUps)
    assert interpreter.keep_out(0, give_up)
    with interpreter.begun() as warm_up:
        assert warm_up == WarmUp()
        assert warm_up.arguments == []
    interpreter.let_in()
