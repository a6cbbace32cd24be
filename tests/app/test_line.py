"""The line of those that wait: fair between users, and nobody waits for ever."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, update

from app.gradings import service as gradings
from app.gradings.line import next_waiting, position
from app.gradings.service import Claim
from app.store.columns import utc_now
from app.store.engine import Store
from app.store.models import Grading, Submission
from app.submissions.service import request_cancel
from tests import builders
from tests.databases import ON_SQLITE
from tests.statements import recorded
from tests.threads import at_once


class Class:
    """People who submit, and workers of one queue. What happens is some seconds apart, in the order it is said."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.names: dict[str, str] = {}
        self._now = utc_now() - timedelta(hours=1)
        with store.transaction() as session:
            builders.add_drill(session)
            self.users = {name: builders.add_user(session, name) for name in ("ada", "bob", "eve")}

    def later(self) -> datetime:
        self._now += timedelta(seconds=10)
        return self._now

    def submit(self, *names: str) -> None:
        """Such as ada1: the user and a number."""
        for name in names:
            with self.store.transaction() as session:
                made = builders.add_submission(session, self.users[name[:3]])
                row = session.get_one(Grading, made.grading_id)
                row.queued_at = row.sent_at = self.later()
                row.queue = "cpu"
            self.names[made.grading_id] = name

    def begin(self) -> Claim | None:
        with self.store.transaction() as session:
            return gradings.claim_next(session, "cpu", worker_id="w", lease_s=30)

    def end(self, claim: Claim) -> None:
        with self.store.transaction() as session:
            gradings.finish(session, claim, builders.report())
            session.execute(update(Grading).where(Grading.id == claim.grading_id).values(finished_at=self.later()))

    def grade(self) -> str:
        claim = self.begin()
        assert claim is not None
        self.end(claim)
        return self.names[claim.grading_id]

    def cancel(self, name: str) -> None:
        grading_id = next(made for made, called in self.names.items() if called == name)
        with self.store.transaction() as session:
            grading = session.get_one(Grading, grading_id)
            request_cancel(session, session.get_one(Submission, grading.submission_id))

    @property
    def line(self) -> list[str]:
        """Those that wait, as they are told their places."""
        with self.store.reading() as session:
            waiting = session.scalars(select(Grading.id).where(Grading.state == "queued")).all()
            places = {position(session, grading_id): self.names[grading_id] for grading_id in waiting}
        assert sorted(place for place in places if place) == list(range(1, len(places) + 1))
        return [places[place] for place in sorted(place for place in places if place)]


@pytest.fixture
def people(store: Store) -> Class:
    return Class(store)


def test_who_sends_six_keeps_nobody_waiting_for_all_of_them(people: Class) -> None:
    people.submit("ada1", "ada2", "ada3", "ada4", "ada5", "ada6", "bob1", "eve1", "eve2")
    assert people.line == ["ada1", "bob1", "eve1", "ada2", "eve2", "ada3", "ada4", "ada5", "ada6"]
    first = people.line[0]
    assert people.grade() == first
    assert [people.grade() for _ in range(8)] == ["bob1", "eve1", "ada2", "eve2", "ada3", "ada4", "ada5", "ada6"]
    assert people.begin() is None


def test_who_comes_while_one_of_six_runs_is_next(people: Class) -> None:
    people.submit("ada1", "ada2", "ada3")
    running = people.begin()
    assert running is not None
    people.submit("bob1")
    assert people.line == ["bob1", "ada2", "ada3"]
    people.end(running)
    assert people.line == ["bob1", "ada2", "ada3"], "that it has ended does not bring the next one before bob's"
    assert [people.grade() for _ in range(3)] == ["bob1", "ada2", "ada3"]


def test_who_waits_is_not_overtaken_for_ever(people: Class) -> None:
    people.submit("ada1", "ada2")
    served = [people.grade()]
    for number in range(1, 4):
        people.submit(f"bob{number}", f"eve{number}")
        served += [people.grade()]
    assert "ada2" in served


def test_several_workers_take_several_of_one_user_while_nobody_else_waits(people: Class) -> None:
    people.submit("ada1", "ada2", "ada3")
    claims = [claim for claim in (people.begin(), people.begin()) if claim]
    assert [people.names[claim.grading_id] for claim in claims] == ["ada1", "ada2"]
    people.submit("bob1")
    assert people.line == ["bob1", "ada3"]


def test_cancelling_costs_no_place(people: Class) -> None:
    people.submit("ada1", "ada2", "bob1")
    people.cancel("ada1")
    assert people.line == ["ada2", "bob1"]


def test_workers_that_look_at_once_take_one_each(people: Class) -> None:
    people.submit("ada1", "ada2", "bob1", "eve1")
    claims = at_once(6, lambda _: people.begin())
    assert sorted(people.names[claim.grading_id] for claim in claims if claim) == ["ada1", "ada2", "bob1", "eve1"]


def test_what_waits_for_another_queue_is_not_taken(people: Class) -> None:
    people.submit("ada1", "bob1")
    with people.store.transaction() as session:
        session.execute(update(Grading).where(Grading.id == next(iter(people.names))).values(queue="gpu"))
    assert people.grade() == "bob1"
    assert people.begin() is None


@ON_SQLITE
def test_the_line_is_one_query_that_looks_at_no_more_than_it_needs(people: Class) -> None:
    people.submit("ada1", "bob1")
    people.grade()
    for look in (lambda session: next_waiting(session, "cpu"), lambda session: position(session, "x")):
        with recorded(people.store.engine) as statements, people.store.reading() as session:
            look(session)
        selects = [text for text, _ in statements.sent if text.startswith("SELECT")]
        assert len(selects) == 1
        plans = [step for step in statements.plans() if "gradings" in step or "submissions" in step]
        assert plans
        assert [step for step in plans if not step.startswith("SEARCH")] == []
