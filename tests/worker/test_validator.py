"""The task that validates, with an engine that the test plays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from sqlalchemy import update

from app.drills import versions
from app.queue.broker import connect
from app.queue.wakeup import Wakeups
from app.settings import Settings
from app.store.engine import Store
from app.store.models import DrillVersion, Validation
from app.validations.events import events_after
from graders.package import Package
from graders.validation import ValidationReport
from tests import builders
from tests.processes import wait_until
from tests.uploads import toy_upload
from tests.validated import validation_report
from tests.worker.unconfirmed import Unconfirming
from worker import patience
from worker.stopping import Stopping
from worker.supervisor.supervisor import Cancelled, JudgeFailed
from worker.validation.engine import Watcher
from worker.validator import Validator

Engine = Callable[[Package, Watcher], ValidationReport]


class Waiting:
    """Students of whom some wait: ``served`` counts those who were graded."""

    def __init__(self) -> None:
        self.waiting, self.served = 0, 0

    def prove(self) -> None:
        """This worker judges rightly."""

    def grade_waiting(self) -> bool:
        if not self.waiting:
            return False
        self.waiting, self.served = self.waiting - 1, self.served + 1
        return True


class Bench:
    """An uploaded drill and the worker that validates it."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.students, self.stopping = store, Waiting(), Stopping(0)
        self.settings = settings.model_copy(update={"heartbeat_s": 0.05, "max_attempts": 2})
        self.client = connect(settings)
        with store.transaction() as session:
            ines = builders.add_user(session, "ines", builders.Role.INSTRUCTOR)
            uploaded = versions.upload(session, ines, toy_upload())
        assert uploaded.validation_id is not None
        self.validation_id, self.version_id = uploaded.validation_id, uploaded.version.id

    def validate(self, engine: Engine) -> None:
        made = Validator(
            self.store,
            self.settings,
            Wakeups(self.client),
            self.students,
            engine,
            worker_id="w",
            stopping=self.stopping,
        )
        made.validate(self.validation_id)

    @property
    def state(self) -> tuple[str, str]:
        with self.store.reading() as session:
            validation = session.get_one(Validation, self.validation_id)
            return session.get_one(DrillVersion, self.version_id).state, validation.state

    @property
    def told(self) -> list[tuple[str, dict[str, Any]]]:
        with self.store.reading() as session:
            return [(event.type, event.data) for event in events_after(session, self.version_id, 0, 500)]


@pytest.fixture
def bench(store: Store, settings: Settings) -> Bench:
    return Bench(store, settings)


def test_what_the_engine_tells_is_told_and_its_report_kept(bench: Bench) -> None:
    def engine(package: Package, watcher: Watcher) -> ValidationReport:
        assert package == toy_upload()
        watcher.stage("submissions")
        watcher.graded("wrong_answer/zeros", "", 1, 2)
        return validation_report()

    bench.validate(engine)
    assert bench.state == ("valid", "done")
    assert bench.told[2:] == [
        ("stage", {"stage": "submissions"}),
        ("submission", {"submission": "wrong_answer/zeros", "verdict": None, "done": 1, "total": 2}),
        ("done", {"state": "valid", "report": True}),
    ]


@pytest.mark.parametrize("error", [JudgeFailed("the judge did not start"), RuntimeError("a mistake of ours")])
def test_a_failure_of_ours_is_tried_again_and_then_told(bench: Bench, error: Exception) -> None:
    def engine(package: Package, watcher: Watcher) -> ValidationReport:
        raise error

    bench.validate(engine)
    assert bench.state == ("validating", "queued")
    bench.validate(engine)
    assert bench.state == ("invalid", "done")
    with bench.store.reading() as session:
        faults = session.get_one(Validation, bench.validation_id).faults
    assert [str(error) in fault["reason"] for fault in faults] == [True, True]


def test_a_message_for_nothing_is_dropped(bench: Bench) -> None:
    def engine(package: Package, watcher: Watcher) -> ValidationReport:
        raise AssertionError("there is nothing to validate")

    bench.validate(lambda package, watcher: validation_report())
    bench.validate(engine)
    assert bench.state == ("valid", "done")


def test_who_lost_the_lease_stops_and_writes_nothing(bench: Bench) -> None:
    def engine(package: Package, watcher: Watcher) -> ValidationReport:
        with bench.store.transaction() as session:
            session.execute(update(Validation).values(attempt=7))
        wait_until(watcher.cancelled, "the lease is found lost")
        raise Cancelled

    bench.validate(engine)
    assert bench.state == ("validating", "running")
    assert bench.told[-1] == ("state", {"state": "running"})


def test_a_late_report_is_dropped(bench: Bench) -> None:
    def engine(package: Package, watcher: Watcher) -> ValidationReport:
        with bench.store.transaction() as session:
            session.execute(update(Validation).values(attempt=7))
        return validation_report()

    bench.validate(engine)
    assert bench.state == ("validating", "running")


def test_students_do_not_wait_for_a_validation(bench: Bench) -> None:
    def engine(package: Package, watcher: Watcher) -> ValidationReport:
        bench.students.waiting = 3
        wait_until(lambda: bench.students.served == 3, "everybody who waits is graded")
        return validation_report()

    bench.validate(engine)
    assert bench.state == ("valid", "done")


def test_a_worker_that_stops_hands_its_validation_on(bench: Bench) -> None:
    def engine(package: Package, watcher: Watcher) -> ValidationReport:
        bench.stopping.tell()
        bench.students.waiting = 1
        assert watcher.cancelled()
        raise Cancelled

    bench.validate(engine)
    assert bench.state == ("validating", "queued")
    with bench.store.reading() as session:
        assert session.get_one(Validation, bench.validation_id).faults == []


@pytest.mark.parametrize("committed", [True, False])
def test_a_claim_that_was_not_confirmed_is_held_on_to(
    bench: Bench, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "_RETRY_S", 0)
    bench.store = cast("Store", Unconfirming(bench.store, committed))
    bench.validate(lambda *_: validation_report())
    assert bench.state == ("valid", "done")
    assert [kind for kind, _ in bench.told].count("restarted") == 0
