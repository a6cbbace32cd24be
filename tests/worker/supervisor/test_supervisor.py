"""The supervisor's promises, with the real judge and real runners."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from graders.limits import Limits
from graders.package import Package
from graders.report import CaseResult
from graders.verdict import CaseStatus, Lane, State, Verdict
from tests.nvml import FakeGpu, FakeNvml
from tests.packages import AROUND_A_FAULT, reduced
from tests.processes import wait_until
from tests.worker.conftest import Quiet, make_job, warm_supervisor
from tests.worker.supervisor.measuring import measuring, warm_ups_in
from worker.device_ledger import Held
from worker.sandbox.process import SandboxedProcess
from worker.sandbox.tiers import TIER_A, Sandbox
from worker.sandbox.walls import SandboxUnavailable, Walls
from worker.supervisor import watchdog
from worker.supervisor.device_lock import DeviceLock
from worker.supervisor.device_watch import DeviceWatch
from worker.supervisor.judge_process import JudgeProcess
from worker.supervisor.nvml import open_device
from worker.supervisor.sandbox_choice import OFF
from worker.supervisor.supervisor import Cancelled, JudgeFailed, Supervisor

RIGHT = Path("graders/t2_softmax/submissions/accepted")
SLOW = """
import time
quick = softmax
def softmax(x, out):
    time.sleep(0.5)
    quick(x, out)
"""
RAISING = "raise ValueError"
ENDLESS = "def softmax(x, out):\n    while True:\n        pass\n"


@pytest.fixture(scope="module")
def right() -> str:
    return sorted(RIGHT.glob("*.py"))[0].read_text()


in_each_tier = pytest.mark.parametrize("own_supervisor", ["A", "B"], indirect=True)


@pytest.fixture
def own_supervisor(request: pytest.FixtureRequest) -> Iterator[Supervisor]:
    """A supervisor that the test may break."""
    with warm_supervisor(getattr(request, "param", "A")) as supervisor:
        yield supervisor


def test_progress_is_told_in_order_and_every_case_once(supervisor: Supervisor, package: Package, right: str) -> None:
    listener = Quiet()
    report = supervisor.grade(make_job(right, package), package.to_zip(), listener)
    assert report.verdict is Verdict.ACCEPTED
    assert listener.states == [State.COMPILING, State.TESTING]
    assert [case.ordinal for case in listener.cases] == list(range(1, report.expected_cases + 1))
    assert listener.cases == report.cases


def test_the_same_seed_draws_the_same_tests(supervisor: Supervisor, package: Package) -> None:
    wrong = "def softmax(x, out):\n    out.copy_(x)\n"
    job = make_job(wrong, package)
    first, second = (supervisor.grade(job, package.to_zip(), Quiet()) for _ in range(2))
    assert [case.mismatch for case in first.cases] == [case.mismatch for case in second.cases]
    other = supervisor.grade(make_job(wrong, package), package.to_zip(), Quiet())
    assert [case.mismatch for case in first.cases] != [case.mismatch for case in other.cases]


@in_each_tier
def test_cancelling_stops_at_once_and_the_next_grading_is_right(
    own_supervisor: Supervisor, package: Package, right: str
) -> None:
    class Impatient(Quiet):
        def state(self, state: State) -> None:
            super().state(state)
            self.stop = state is State.COMPILING

    with pytest.raises(Cancelled):
        own_supervisor.grade(make_job(ENDLESS, package), package.to_zip(), Impatient())
    report = own_supervisor.grade(make_job(right, package), package.to_zip(), Quiet())
    assert report.verdict is Verdict.ACCEPTED


@in_each_tier
def test_a_judge_that_dies_is_our_fault_and_replaced(own_supervisor: Supervisor, package: Package, right: str) -> None:
    class Killer(Quiet):
        def case(self, result: CaseResult) -> None:
            super().case(result)
            if result.ordinal == 3:
                judge = own_supervisor._judge
                assert judge is not None
                os.kill(judge.process.pid, signal.SIGKILL)

    with pytest.raises(JudgeFailed):
        own_supervisor.grade(make_job(right, package), package.to_zip(), Killer())
    report = own_supervisor.grade(make_job(right, package), package.to_zip(), Quiet())
    assert report.verdict is Verdict.ACCEPTED


def test_a_drill_that_does_not_load_is_our_fault(own_supervisor: Supervisor, package: Package, right: str) -> None:
    broken = Package("t2_softmax", package.files | {"graders/t2_softmax/cases.py": b"raise RuntimeError('boom')"})
    with pytest.raises(JudgeFailed, match="boom"):
        own_supervisor.grade(make_job(right, broken), broken.to_zip(), Quiet())


@pytest.mark.parametrize("tier", ["A", "B"])
def test_nothing_is_left_running(package: Package, right: str, tier: str) -> None:
    before = _children()
    with warm_supervisor(tier) as supervisor:
        supervisor.grade(make_job(right, package), package.to_zip(), Quiet())
        assert _children() > before
    assert _children() == before
    assert not any(thread.name == "watchdog" and not _known(thread) for thread in threading.enumerate())


def test_without_walls_reports_say_so(package: Package, right: str) -> None:
    supervisor = Supervisor(Lane.INTERPRETER, {"interpreter": 1, "compiler": 1}, sandbox=OFF)
    try:
        job = make_job(right, package).model_copy(update={"sandbox": "unsandboxed"})
        report = supervisor.grade(job, package.to_zip(), Quiet())
    finally:
        supervisor.close()
    assert report.verdict is Verdict.ACCEPTED
    assert report.environment.sandbox == "unsandboxed"
    assert "notice.unsandboxed" in [notice.key for notice in report.notices]
    assert all(case.status in (CaseStatus.PASSED, CaseStatus.SKIPPED) for case in report.cases)


def test_the_operators_maximum_is_in_the_walls_of_runners_on_standby() -> None:
    built: dict[str, Walls] = {}

    def start(
        walls: Walls, program: list[str], descriptors: tuple[int, ...], output: int | None = None
    ) -> SandboxedProcess:
        built[program[0]] = walls
        return OFF.start(walls, program, descriptors, output)

    maximum = Limits(scratch_mib=64, open_files=100, tasks=4096)
    supervisor = Supervisor(Lane.INTERPRETER, {"interpreter": 1}, sandbox=Sandbox("watched", start), maximum=maximum)
    try:
        supervisor.warm_up()
    finally:
        supervisor.close()
    runner = built["worker.runner"]
    assert (runner.scratch_mib, runner.open_files, runner.tasks) == (64, 100, 256)


def test_a_grading_waits_for_the_device_and_can_be_cancelled_meanwhile(
    own_supervisor: Supervisor, package: Package, right: str, tmp_path: Path
) -> None:
    own_supervisor._lock = DeviceLock("GPU-test", tmp_path)
    impatient = Quiet()
    impatient.stop = True
    with DeviceLock("GPU-test", tmp_path).held(lambda: None), pytest.raises(Cancelled):
        own_supervisor.grade(make_job(right, package), package.to_zip(), impatient)
    assert impatient.states == []
    assert own_supervisor.grade(make_job(right, package), package.to_zip(), Quiet()).verdict is Verdict.ACCEPTED


def test_a_lock_that_cannot_be_had_is_our_fault(
    own_supervisor: Supervisor, package: Package, right: str, tmp_path: Path
) -> None:
    own_supervisor._lock = DeviceLock("GPU-test", tmp_path / "missing")
    with pytest.raises(JudgeFailed, match="missing"):
        own_supervisor.grade(make_job(right, package), package.to_zip(), Quiet())


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), SandboxUnavailable("all slots are in use")])
def test_a_report_outlives_runners_that_cannot_be_started_after_it(
    error: Exception,
    own_supervisor: Supervisor,
    package: Package,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(own_supervisor._pool, "fill", fail)
    report = own_supervisor.grade(make_job(RAISING, package), package.to_zip(), Quiet())
    assert report.verdict is Verdict.RUNTIME_ERROR
    assert str(error) in caplog.text


class Unasked:
    """Stands in for a judge that did not ask to have its runner pinned."""

    def __init__(self) -> None:
        self.channel = self
        self.told: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        self.told.append(message)


def on_a_device(supervisor: Supervisor, folder: Path) -> Supervisor:
    """The same, as if its lane had a device whose locks are in ``folder``."""
    supervisor._warm_ups = supervisor._pool._warm_ups = warm_ups_in(folder)
    return supervisor


def may_begin(folder: Path) -> bool:
    """Whether another worker may have something warm up."""
    with warm_ups_in(folder).begun() as warm_up:
        return warm_up is not None


def test_from_a_measurement_on_nothing_warms_up_until_the_grading_ends(
    own_supervisor: Supervisor, package: Package, right: str, tmp_path: Path
) -> None:
    supervisor = on_a_device(own_supervisor, tmp_path)
    found: list[bool] = []

    class Measured(Quiet):
        """Has a runner pinned once the second result is there, as if a measurement began."""

        def case(self, result: CaseResult) -> None:
            super().case(result)
            found.append(may_begin(tmp_path))
            if result.ordinal == 2:
                runner, *_ = supervisor._active.values()
                supervisor._pin(cast("JudgeProcess", Unasked()), runner, self)

    supervisor._cores = None
    small = reduced(package, **AROUND_A_FAULT)
    report = supervisor.grade(make_job(right, small), small.to_zip(), Measured())
    assert report.verdict is Verdict.ACCEPTED
    assert found == [True, True, *[False] * (report.expected_cases - 2)]
    assert [len(runners) for runners in supervisor._pool._standby.values()] == [1, 1], "filled when it had ended"
    assert may_begin(tmp_path)


def test_a_new_judge_calibrates_itself_when_nothing_warms_up(
    own_supervisor: Supervisor, package: Package, tmp_path: Path
) -> None:
    supervisor = on_a_device(own_supervisor, tmp_path)
    supervisor.lane = Lane.GPU
    found: list[bool] = []

    class Looking(Quiet):
        def state(self, state: State) -> None:
            super().state(state)
            found.append(may_begin(tmp_path))

    for _ in range(2):
        supervisor.grade(make_job(RAISING, package), package.to_zip(), Looking())
    assert found == [False, True]


@pytest.fixture
def cold_supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """One on a device that has started nothing."""
    supervisor = Supervisor(Lane.INTERPRETER, {"interpreter": 1, "compiler": 1}, sandbox=TIER_A)
    yield on_a_device(supervisor, tmp_path)
    supervisor.close()


def test_a_measurement_waits_for_what_others_have_warm_up_no_longer_than_told(
    cold_supervisor: Supervisor, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    impatient = Quiet()
    impatient.stop = True
    with warm_ups_in(tmp_path).begun():
        with pytest.raises(Cancelled):
            cold_supervisor._settle(impatient)
        cold_supervisor._patience_s = 0.1
        cold_supervisor._settle(Quiet())
        assert "still warms up" in caplog.text
        cold_supervisor._settle(impatient)  # not again in the same grading
    cold_supervisor._settle(impatient)
    assert not may_begin(tmp_path)


def test_what_ran_beside_another_while_it_should_stand_still_is_told(cold_supervisor: Supervisor) -> None:
    cold_supervisor._pool.fill()
    candidate, reference = cold_supervisor._pool.take("interpreter"), cold_supervisor._pool.take("compiler")
    cold_supervisor._active = {runner.id: runner for runner in (candidate, reference)}
    for runner in (candidate, reference):
        wait_until(lambda: cold_supervisor._pause(runner), "it stands still")  # noqa: B023
        assert cold_supervisor._pause(runner)
    reference.process.resume()
    os.kill(candidate.process.pids()[-1], signal.SIGCONT)
    wait_until(lambda: not candidate.process.rested(), "the candidate has run")
    os.kill(candidate.process.pids()[-1], signal.SIGCONT)
    wait_until(lambda: not cold_supervisor._pause(reference), "the candidate has run again")
    wait_until(lambda: cold_supervisor._pause(reference), "both stand still again")


def test_what_hangs_while_it_warms_up_is_not_waited_for_for_ever(
    cold_supervisor: Supervisor, caplog: pytest.LogCaptureFixture
) -> None:
    cold_supervisor._pool.fill()
    for runners in cold_supervisor._pool._standby.values():
        runners[0].process.pause()
    cold_supervisor._patience_s = 0.1
    cold_supervisor._settle(Quiet())
    assert "still warms up" in caplog.text


def test_while_another_worker_measures_nothing_warms_up_but_for_a_grading(
    cold_supervisor: Supervisor, package: Package, tmp_path: Path
) -> None:
    with measuring(tmp_path):
        cold_supervisor.warm_up()
        assert cold_supervisor._judge is None
        assert not any(cold_supervisor._pool._standby.values())
        report = cold_supervisor.grade(make_job(RAISING, package), package.to_zip(), Quiet())
        assert not any(cold_supervisor._pool._standby.values())
    assert report.verdict is Verdict.RUNTIME_ERROR
    cold_supervisor.warm_up()
    assert all(cold_supervisor._pool._standby.values())


def test_warm_ups_that_cannot_be_looked_after_are_our_fault(
    cold_supervisor: Supervisor, package: Package, right: str, tmp_path: Path
) -> None:
    on_a_device(cold_supervisor, tmp_path / "missing")
    cold_supervisor.warm_up()
    assert cold_supervisor._judge is None
    with pytest.raises(JudgeFailed, match="missing"):
        cold_supervisor.grade(make_job(right, package), package.to_zip(), Quiet())


def test_the_judge_stands_still_while_a_runner_works(own_supervisor: Supervisor, package: Package, right: str) -> None:
    class Looking(Quiet):
        def __init__(self) -> None:
            super().__init__()
            self.held: list[Held | None] = []

        def cancelled(self) -> bool:
            assert own_supervisor._judge is not None
            self.held.append(own_supervisor._judge.ledger.held())
            return super().cancelled()

    looking = Looking()
    small = reduced(package, **AROUND_A_FAULT)
    own_supervisor.grade(make_job(right + SLOW, small), small.to_zip(), looking)
    assert any(looking.held), "it waits for the runner"
    assert own_supervisor._judge is not None
    assert own_supervisor._judge.ledger.held() is None, "it works"


def test_too_much_of_the_device_is_a_verdict_with_its_limit(
    own_supervisor: Supervisor, package: Package, right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = FakeGpu()

    class Taking(Quiet):
        """Has the device fill up during the third test and empty again after it."""

        def case(self, result: CaseResult) -> None:
            super().case(result)
            gpu.used = 100 << 30 if len(self.cases) == 2 else 0

    monkeypatch.setattr(watchdog, "DEVICE_LIMITED", ("interpreter",))
    own_supervisor._watchdog.close()
    own_supervisor._watchdog = watchdog.Watchdog(DeviceWatch(open_device(0, FakeNvml(gpu)), standby=2))
    small = reduced(package, **AROUND_A_FAULT)
    report = own_supervisor.grade(make_job(right + SLOW, small, device_memory_mib=1000), small.to_zip(), Taking())
    assert report.verdict is Verdict.MEMORY_LIMIT
    (stricken,) = (case for case in report.cases if case.status is CaseStatus.ERROR)
    assert stricken.ordinal == 3
    assert stricken.cause is not None
    assert (stricken.cause.key, stricken.cause.params) == ("case.device_memory_limit", {"limit_mib": 1000})


def _children() -> set[int]:
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        found.update(map(int, Path(f"/proc/self/task/{task}/children").read_text().split()))
    return found


def _known(thread: threading.Thread) -> bool:
    """The session's own supervisor has a watchdog too."""
    return thread.is_alive()
