"""Real runners on standby."""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from graders.limits import Limits
from graders.verdict import Lane
from tests.container import in_tier
from tests.processes import descendants, uid_of, wait_until
from tests.worker.supervisor.measuring import measuring, never, warm_ups_in
from worker.sandbox import credentials
from worker.sandbox.tiers import TIER_A, Sandbox
from worker.supervisor.judge_process import JudgeProcess
from worker.supervisor.runners import Runner, RunnerPool
from worker.supervisor.warm_ups import WarmUps

START_S = 60.0


@pytest.fixture(params=["A", "B"])
def pool(request: pytest.FixtureRequest) -> Iterator[RunnerPool]:
    with in_tier(request.param) as sandbox:
        pool = RunnerPool({"interpreter": 1}, sandbox=sandbox, limits=Limits())
        pool.fill()
        yield pool
        pool.close()


def test_a_pool_has_settled_when_its_runners_are_warm(pool: RunnerPool) -> None:
    pool.settle(60)
    runner = pool.take("interpreter")
    assert select.select([runner.socket], [], [], 0)[0] == [runner.socket], "it has said that it is ready"
    runner.handed_over()
    runner.kill()


def test_a_runner_that_went_is_not_waited_for(pool: RunnerPool) -> None:
    pool._standby["interpreter"][0].kill()
    began = time.monotonic()
    pool.settle(60)
    assert time.monotonic() - began < 60


def test_what_does_not_come_is_waited_for_no_longer_than_told(pool: RunnerPool) -> None:
    pool._standby["interpreter"][0].process.pause()
    began = time.monotonic()
    pool.settle(0.1)
    assert time.monotonic() - began >= 0.1


@pytest.fixture
def warm_ups(tmp_path: Path) -> WarmUps:
    return warm_ups_in(tmp_path)


@pytest.fixture(params=["A", "B"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with in_tier(request.param) as sandbox:
        yield sandbox


@pytest.fixture
def shared(sandbox: Sandbox, warm_ups: WarmUps) -> Iterator[RunnerPool]:
    """A pool on a device that others measure on; nothing has been started."""
    pool = RunnerPool({"interpreter": 1}, sandbox=sandbox, limits=Limits(), warm_ups=warm_ups)
    yield pool
    pool.close()


def ready(runner: Runner) -> bool:
    return bool(select.select([runner.socket], [], [], 0)[0])


def halted(pool: RunnerPool) -> Runner:
    """The runner on standby, brought to a stop while it warms up."""
    pool.fill()
    (runner,) = pool._standby["interpreter"]
    wait_until(lambda: has_begun(runner), "its program is there")
    runner.process.pause()
    assert not ready(runner), "it takes a second of a core"
    return runner


def has_begun(runner: Runner) -> bool:
    """Whether there is more of it than what has made its walls, or still makes them."""
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in descendants(runner.process.pid)]
    return any(b"worker.runner" in line for line in lines)


def test_nobody_measures_until_a_runner_has_said_that_it_is_ready(shared: RunnerPool, warm_ups: WarmUps) -> None:
    runner = halted(shared)
    assert not warm_ups.keep_out(0.1, never), "it is waited for no longer than told"
    runner.process.resume()
    shared.settle(START_S)
    assert ready(runner)
    assert warm_ups.keep_out(0, never)


def test_a_runner_that_is_killed_warming_up_keeps_nobody_out(shared: RunnerPool, warm_ups: WarmUps) -> None:
    runner = halted(shared)
    assert not warm_ups.keep_out(0, never)
    runner.kill()
    assert warm_ups.keep_out(START_S, never), "when the last of its processes has gone"


def test_a_ready_runner_knows_nothing_of_the_lock(shared: RunnerPool, warm_ups: WarmUps) -> None:
    shared.fill()
    (runner,) = shared._standby["interpreter"]

    def is_seen() -> bool:
        with contextlib.suppress(OSError):  # it changes its id, and closes what is not its program's
            return str(warm_ups.path) in open_files(runner)
        return False

    wait_until(is_seen, "the lock is seen in a runner that warms up", every_s=0.001)
    shared.settle(START_S)
    assert ready(runner)
    held = open_files(runner)
    assert [link for link in held if link.startswith("socket:")], "its channel is seen"
    assert str(warm_ups.path) not in held


def open_files(runner: Runner) -> list[str]:
    """What the processes below a runner's first one have open, those of other ids included."""
    found: list[str] = []
    for pid in descendants(runner.process.pid):
        with credentials.files_as(uid_of(pid) or 0):
            found += [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    return found


def test_the_pool_is_filled_when_the_others_measurement_is_over(
    shared: RunnerPool, warm_ups: WarmUps, tmp_path: Path
) -> None:
    with measuring(tmp_path):
        shared.fill()
        assert shared._standby == {"interpreter": []}
    shared.fill()
    assert len(shared._standby["interpreter"]) == 1


def test_who_measures_gets_a_runner_all_the_same(shared: RunnerPool, warm_ups: WarmUps) -> None:
    assert warm_ups.keep_out(0, never)
    shared.fill()
    runner = shared.take("interpreter")
    assert select.select([runner.socket], [], [], START_S)[0], "it warms up"
    assert runner.process.returncode is None
    runner.discard()


def test_nobody_measures_until_a_judge_is_warm(warm_ups: WarmUps) -> None:
    with warm_ups.begun() as warm_up:
        judge = JudgeProcess(Lane.INTERPRETER, sandbox=TIER_A, warm_up=warm_up)
    try:
        judge.process.pause()
        assert not warm_ups.keep_out(0, never)
        judge.process.resume()
        judge.wait_ready()
        assert warm_ups.keep_out(0, never)
    finally:
        judge.kill()
