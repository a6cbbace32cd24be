"""Submitting, by several at once."""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy import func, select

from app.drills.service import find_drill
from app.errors import Problem
from app.store.engine import Store
from app.store.models import Submission
from app.submissions.service import submit, submit_once
from tests import builders
from tests.databases import ON_POSTGRESQL
from tests.threads import at_once


def test_submissions_that_come_at_once_are_counted_one_after_the_other(store: Store) -> None:
    with store.transaction() as session:
        builders.add_drill(session)
        ada = builders.add_user(session)

    def send(_number: int) -> str | None:
        with suppress(Problem), store.transaction() as session:
            return submit(session, ada, "toy", builders.SOURCE, per_hour=3).submission_id
        return None

    sent = [submission for submission in at_once(5, send) if submission is not None]
    with store.reading() as session:
        assert sorted(session.get_one(Submission, submission).attempt for submission in sent) == [1, 2, 3]


@ON_POSTGRESQL
def test_who_submits_does_not_wait_for_who_uploads(store: Store) -> None:
    with store.transaction() as session:
        builders.add_drill(session)
        ines = builders.add_user(session, "ines", builders.Role.INSTRUCTOR)

    def send(_number: int) -> str:
        with store.transaction() as session:
            return submit(session, ines, "toy", builders.SOURCE, per_hour=3).submission_id

    with store.transaction() as session:
        assert find_drill(session, "toy") is not None
        (sent,) = at_once(1, send)
    with store.reading() as session:
        assert session.get_one(Submission, sent).attempt == 1


def test_requests_with_one_key_at_once_are_one_submission(store: Store) -> None:
    with store.transaction() as session:
        builders.add_drill(session)
        ada = builders.add_user(session)

    def send(_number: int) -> tuple[str, bool] | str:
        try:
            submitted, made_now = submit_once(store, ada, "toy", builders.SOURCE, per_hour=9, key="k")
        except Problem as problem:
            return problem.type.slug
        return submitted.submission_id, made_now

    answers = at_once(6, send)
    made = [answer[0] for answer in answers if answer[1] is True]
    assert len(made) == 1
    assert {*answers} <= {(made[0], True), (made[0], False), "request-in-flight"}
    assert send(0) == (made[0], False)
    with store.reading() as session:
        assert session.scalars(select(func.count()).select_from(Submission)).one() == 1
