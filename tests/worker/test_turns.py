"""Messages are turns: each begins what is first in line, none begins two, and nobody is left without one."""

from __future__ import annotations

from typing import Any, cast

import pytest
from sqlalchemy import update

from app.gradings.service import claim
from app.settings import Settings
from app.store.columns import utc_now
from app.store.engine import Store
from app.store.models import Grading, Submission
from app.submissions.service import Submitted, request_cancel
from graders.report import Report
from tests import builders
from tests.worker.test_tasks import Bench
from tests.worker.unconfirmed import Unconfirming
from worker import patience
from worker.stopping import WorkerStops


class Line(Bench):
    """Ada's submission, two more of hers and one of bob's, all sent to this worker's queue."""

    def __init__(self, store: Store, settings: Settings) -> None:
        super().__init__(store, settings)
        with store.transaction() as session:
            first = session.get_one(Submission, self.submitted.submission_id)
            ada = builders.Principal(first.user_id, "ada", builders.Role.STUDENT, builders.Via.TOKEN)
            mine = [self.submitted, *(builders.add_submission(session, ada) for _ in range(2))]
            bobs = builders.add_submission(session, builders.add_user(session, "bob"))
            session.execute(update(Grading).values(queue="cpu", sent_at=utc_now()))
        self.every = {"ada1": mine[0], "ada2": mine[1], "ada3": mine[2], "bob1": bobs}
        self.names = {made.grading_id: name for name, made in self.every.items()}

    def take(self, name: str, judge: Any = lambda _: builders.report()) -> list[str]:
        """Take the message of that one. Returns what was begun by it."""
        before = self.begun()
        self.submitted = self.every[name]
        self.grade(judge)
        return sorted(self.begun() - before)

    def begun(self) -> set[str]:
        with self.store.reading() as session:
            rows = session.query(Grading).filter(Grading.attempt > 0)
            return {self.names[row.id] for row in rows}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_RETRY_S", 0)


@pytest.fixture
def line(store: Store, settings: Settings) -> Line:
    return Line(store, settings)


def test_each_message_begins_what_is_first_in_line(line: Line) -> None:
    taken = [line.take(name) for name in ("ada1", "ada2", "ada3", "bob1")]
    assert taken == [["ada1"], ["bob1"], ["ada2"], ["ada3"]]


def test_a_message_that_comes_twice_begins_nothing_twice(line: Line) -> None:
    taken = [line.take(name) for name in ("ada1", "ada1", "ada1", "ada1", "ada2", "bob1")]
    assert taken == [["ada1"], ["bob1"], ["ada2"], ["ada3"], [], []]


def test_what_was_cancelled_leaves_its_turn_to_others(line: Line) -> None:
    with line.store.transaction() as session:
        request_cancel(session, session.get_one(Submission, line.every["ada1"].submission_id))
    assert line.take("ada1") == ["ada2"]


def test_what_waits_for_another_lane_is_left_to_it(line: Line) -> None:
    with line.store.transaction() as session:
        session.execute(update(Grading).where(Grading.id != line.every["ada3"].grading_id).values(queue="gpu"))
    assert line.take("ada1") == ["ada3"]


def test_a_message_that_was_thought_not_to_be_sent_is_no_lost_turn(line: Line) -> None:
    with line.store.transaction() as session:
        session.execute(update(Grading).values(queue=None, sent_at=None))
    assert line.take("ada2") == ["ada2"]


def test_a_turn_may_be_taken_while_one_is_judged(line: Line) -> None:
    """As a worker does that validates, or another worker: the messages that are left find who is left."""

    def judge(_listener: Any) -> Report:
        assert line.take("bob1") == ["bob1"]
        return builders.report()

    assert line.take("ada1", judge) == ["ada1", "bob1"]
    assert [line.take(name) for name in ("ada2", "ada3")] == [["ada2"], ["ada3"]]


@pytest.mark.parametrize("committed", [True, False])
def test_a_claim_that_was_not_confirmed_is_one_turn(line: Line, committed: bool) -> None:
    line.store = cast("Store", Unconfirming(line.store, committed))
    assert line.take("ada1") == ["ada1"]
    assert (line.grading.state, line.grading.attempt) == ("done", 1)
    assert line.told.count("state") == 1, "begun once"
    assert line.take("bob1") == ["bob1"]


def test_what_another_has_claimed_meanwhile_is_left_to_it(line: Line) -> None:
    def overtake() -> None:
        with line.store.transaction() as session:
            assert claim(session, line.every["ada1"].grading_id, worker_id="other", lease_s=30)

    ours = line.store
    line.store = cast("Store", Unconfirming(ours, False, overtake))
    overtaken = line.take("bob1")
    assert overtaken == ["ada1", "bob1"]
    with ours.reading() as session:
        row = session.get_one(Grading, line.every["ada1"].grading_id)
        assert (row.worker_id, row.state, row.attempt) == ("other", "compiling", 1)


def test_a_worker_that_stops_takes_no_turn(line: Line) -> None:
    line.stopping.tell()
    with pytest.raises(WorkerStops):
        line.take("ada1")
    assert line.begun() == set()


def test_what_failed_through_our_fault_is_sent_again_before_it_is_begun_again(line: Line) -> None:
    def judge(_listener: Any) -> Report:
        raise RuntimeError("the GPU fell off the bus")

    assert line.take("ada1", judge) == ["ada1"]
    assert [line.take(name) for name in ("ada2", "ada3", "bob1")] == [["bob1"], ["ada2"], ["ada3"]]
    submitted: Submitted = line.every["ada1"]
    with line.store.reading() as session:
        row = session.get_one(Grading, submitted.grading_id)
        assert (row.state, row.sent_at, row.attempt) == ("queued", None, 1)
