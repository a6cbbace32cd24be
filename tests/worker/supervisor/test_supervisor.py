"""The supervisor's promises, with the real judge and real runners."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from graders.limits import Limits
from graders.package import Package
from graders.report import CaseResult
from graders.verdict import CaseStatus, Lane, State, Verdict
from tests.nvml import FakeGpu, FakeNvml
from tests.packages import AROUND_A_FAULT, reduced
from tests.worker.conftest import Quiet, make_job, warm_supervisor
from worker.device_ledger import Held
from worker.sandbox.process import SandboxedProcess
from worker.sandbox.tiers import Sandbox
from worker.sandbox.walls import Walls
from worker.supervisor import watchdog
from worker.supervisor.device_lock import DeviceLock
from worker.supervisor.device_watch import DeviceWatch
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
