"""A runner that takes too much is stopped and it is said why, whatever the driver does meanwhile."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from graders.limits import Limits
from tests.nvml import FakeGpu, FakeNvml, Listed, NVMLError
from tests.processes import wait_until
from worker.device_ledger import DeviceLedger
from worker.sandbox.process import SandboxedProcess
from worker.sandbox.tiers import TIER_A
from worker.sandbox.walls import Walls
from worker.supervisor import device_watch
from worker.supervisor.device_watch import INTERVAL_S, DeviceWatch
from worker.supervisor.nvml import open_device
from worker.supervisor.runners import Runner
from worker.supervisor.watchdog import Watchdog

GIB = 1 << 30
FORKS = Path(__file__).parents[1] / "sandbox/probes/forks.py"
FORKED = 15

Start = Callable[..., Runner]


@dataclass
class Tree:
    numbers: list[int]

    def pids(self) -> list[int]:
        return self.numbers


@dataclass
class PlayedJudge:
    process: Tree
    ledger: DeviceLedger


@pytest.fixture
def start() -> Iterator[Start]:
    """``start(kind)``: a sandboxed tree of ``FORKED`` processes and bubblewrap's own, as a runner."""
    started: list[Runner] = []

    def run(kind: str = "gpu") -> Runner:
        ours, theirs = socket.socketpair()
        walls = Walls(programs={"worker": Path("worker").absolute(), "probe.py": FORKS}, environment={}, tasks=FORKED)
        process: SandboxedProcess = TIER_A.start(walls, ["probe", str(theirs.fileno())], (theirs.fileno(),))
        theirs.close()
        ours.recv(1)
        runner = Runner(len(started) + 1, kind, process, ours.detach(), os.open(os.devnull, os.O_RDONLY))
        started.append(runner)
        return runner

    yield run
    for runner in started:
        runner.handed_over()
        runner.kill()


@pytest.fixture
def judge() -> PlayedJudge:
    """A judge that waits and holds nothing."""
    ledger = DeviceLedger()
    ledger.waiting(0, 0, 0)
    return PlayedJudge(Tree([1]), ledger)


def watchdog_over(nvml: FakeNvml) -> Watchdog:
    return Watchdog(DeviceWatch(open_device(0, nvml), standby=0))


@pytest.fixture
def closing() -> Iterator[list[Watchdog]]:
    watchdogs: list[Watchdog] = []
    yield watchdogs
    for watchdog in watchdogs:
        watchdog.close()


@pytest.mark.parametrize("named", [True, False])
def test_too_much_of_the_device_ends_the_runner(
    start: Start, judge: PlayedJudge, closing: list[Watchdog], named: bool
) -> None:
    gpu = FakeGpu(used=GIB, computing=[Listed(judge.process.numbers[0], GIB)] if named else [])
    closing.append(watchdog_over(FakeNvml(gpu)))
    runner = start()
    closing[0].watch(runner, Limits(device_memory_mib=1024), judge)
    if named:
        gpu.computing.append(Listed(runner.process.pids()[-1], 9 * GIB))
    else:
        gpu.used += 9 * GIB
    wait_until(lambda: runner.process.returncode is not None, "the runner is stopped")
    assert closing[0].unwatch(runner) == "device_memory"


def test_the_reference_is_not_accused_of_what_the_candidate_takes(
    start: Start, judge: PlayedJudge, closing: list[Watchdog]
) -> None:
    gpu = FakeGpu(used=GIB)
    closing.append(watchdog_over(FakeNvml(gpu)))
    reference, candidate = start("reference"), start("gpu")
    for runner in (reference, candidate):
        closing[0].watch(runner, Limits(device_memory_mib=1024), judge)
    gpu.used += 9 * GIB
    wait_until(lambda: candidate.process.returncode is not None, "the candidate is stopped")
    assert closing[0].unwatch(reference) is None
    assert reference.process.returncode is None


def test_a_driver_that_hangs_does_not_keep_the_other_limits(
    start: Start, judge: PlayedJudge, closing: list[Watchdog]
) -> None:
    released = threading.Event()

    def hang() -> None:
        released.wait()

    closing.append(watchdog_over(FakeNvml(FakeGpu(), before=hang)))
    runner = start()
    closing[0].watch(runner, Limits(tasks=FORKED // 2), judge)
    wait_until(lambda: runner.process.returncode is not None, "the runner is stopped")
    assert closing[0].unwatch(runner) == "tasks"
    released.set()


def test_a_driver_that_fails_is_told_once_and_accuses_nobody(
    start: Start,
    judge: PlayedJudge,
    closing: list[Watchdog],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_watch, "OPEN_WAIT_S", 60.0)

    def fail() -> None:
        raise NVMLError("GPU is lost")

    nvml = FakeNvml(FakeGpu(), before=fail)
    closing.append(watchdog_over(nvml))
    runner = start()
    started = time.monotonic()
    closing[0].watch(runner, Limits(), judge)
    assert time.monotonic() - started < 60, "no runner waits for it"
    wait_until(lambda: nvml.looks > 3, "it is tried again")
    assert caplog.text.count("GPU is lost") == 1
    assert closing[0].unwatch(runner) is None
    assert runner.process.returncode is None


def test_the_driver_is_asked_no_more_often_than_it_has_to_be(
    start: Start, judge: PlayedJudge, closing: list[Watchdog]
) -> None:
    nvml = FakeNvml(FakeGpu())
    closing.append(watchdog_over(nvml))
    assert nvml.looks == 0, "while nothing is watched it is left alone"
    started = time.monotonic()
    closing[0].watch(start(), Limits(), judge)
    wait_until(lambda: nvml.looks >= 6, "it is looked at again and again")
    assert time.monotonic() - started > 5 * INTERVAL_S * 0.9
