"""The task that grades, with a supervisor that the test plays: what becomes of a result when PostgreSQL restarts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError

from app.gradings import service as gradings
from app.gradings.events import events_after
from app.queue.broker import connect
from app.queue.wakeup import Wakeups
from app.settings import Settings
from app.store.columns import utc_now
from app.store.engine import Store
from app.store.models import CaseRow, Grading, Submission
from app.submissions.service import Submitted
from graders.report import Report
from graders.verdict import Lane, State
from tests import builders
from tests.databases import ON_POSTGRESQL, away
from tests.processes import wait_until
from tests.threads import at_once
from worker import patience
from worker.job import Job
from worker.stopping import Stopping
from worker.supervisor.supervisor import Cancelled
from worker.tasks import Grader

Judge = Callable[[Any], Report]

pytestmark = ON_POSTGRESQL


class Played:
    """A supervisor whose canary is right, and that judges as the test says."""

    lane = Lane.INTERPRETER

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def grade(self, job: Job, _package: bytes, listener: Any) -> Report:
        return builders.report() if job.id == "canary" else self._judge(listener)


class Bench:
    """A submission, and the worker that grades it."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings.model_copy(update={"heartbeat_s": 0.05})
        self.wakeups = Wakeups(connect(settings))
        self.stopping = Stopping(0)
        with store.transaction() as session:
            builders.add_drill(session)
            self.submitted: Submitted = builders.add_submission(session, builders.add_user(session))

    def grade(self, judge: Judge) -> None:
        supervisor: Any = Played(judge)
        health = SimpleNamespace(value=True)
        grader = Grader(
            self.store,
            supervisor,
            self.settings,
            self.wakeups,
            worker_id="w",
            sandbox="A",
            health=health,
            stopping=self.stopping,
        )
        grader.grade(self.submitted.grading_id)

    @property
    def grading(self) -> Grading:
        with self.store.reading() as session:
            return session.get_one(Grading, self.submitted.grading_id)

    @property
    def told(self) -> list[str]:
        with self.store.reading() as session:
            return [event.type for event in events_after(session, self.submitted.submission_id, 0, 500)]


@pytest.fixture
def bench(store: Store, settings: Settings) -> Bench:
    return Bench(store, settings)


def outlived(
    bench: Bench, judge: Judge, caplog: pytest.LogCaptureFixture, before: Callable[[Any], None] = lambda _: None
) -> None:
    """Grade while the database goes away in the middle, and comes back when the worker has noticed. ``before`` that
    something happens to the listener."""
    outage = ExitStack()

    def judged(listener: Any) -> Report:
        listener.state(State.TESTING)
        before(listener)
        outage.enter_context(away(bench.settings))
        return judge(listener)

    def act(number: int) -> None:
        if number == 0:
            bench.grade(judged)
        else:
            wait_until(lambda: "waiting for the database" in caplog.text, "the worker waits")
            outage.close()

    at_once(2, act)


def test_a_result_outlives_a_restart(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    cases = [builders.passed_case(1), builders.passed_case(2)]

    def judge(listener: Any) -> Report:
        listener.case(cases[0])
        return builders.report(cases, score=20)

    outlived(bench, judge, caplog)
    row = bench.grading
    assert (row.state, row.verdict, row.score, row.attempt, row.faults) == ("done", "accepted", 20, 1, [])
    assert bench.told == ["state", "state", "done"], "what could not be told is in the report"
    with bench.store.reading() as session:
        assert session.scalars(select(CaseRow.ordinal).order_by(CaseRow.ordinal)).all() == [1, 2]


def test_a_failure_outlives_a_restart(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    def judge(_listener: Any) -> Report:
        raise RuntimeError("the GPU fell off the bus")

    outlived(bench, judge, caplog)
    row = bench.grading
    assert (row.state, row.faults[0]["reason"]) == ("queued", "RuntimeError: the GPU fell off the bus")


def test_a_cancellation_outlives_a_restart(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    def judge(_listener: Any) -> Report:
        raise Cancelled

    def cancel(listener: Any) -> None:
        with bench.store.transaction() as session:
            session.execute(update(Submission).values(cancel_requested_at=utc_now()))
        wait_until(listener.cancelled, "the worker hears of it")

    outlived(bench, judge, caplog, cancel)
    assert (bench.grading.state, bench.told[-1]) == ("cancelled", "done")


def test_a_result_whose_grading_was_taken_over_meanwhile_is_dropped(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    def judge(_listener: Any) -> Report:
        with bench.store.transaction() as session:
            session.execute(update(Grading).values(state="queued"))
        with bench.store.transaction() as session:
            assert gradings.claim(session, bench.submitted.grading_id, worker_id="other", lease_s=30)
        return builders.report()

    bench.grade(judge)
    assert (bench.grading.state, bench.grading.worker_id) == ("compiling", "other")
    assert "a late result was dropped" in caplog.text


def test_a_database_that_stays_away_is_not_waited_for_for_ever(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE_S", 0)
    with ExitStack() as outage:

        def judge(_listener: Any) -> Report:
            outage.enter_context(away(bench.settings))
            return builders.report()

        with pytest.raises(OperationalError):
            bench.grade(judge)
    assert bench.grading.state == "compiling", "whoever sweeps takes it back"
