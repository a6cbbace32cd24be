"""The worker-facing functions: claims, leases, events, endings."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from app.gradings import service as gradings
from app.gradings.events import events_after
from app.gradings.line import next_waiting
from app.gradings.service import Claim, LeaseLost
from app.store.columns import utc_now
from app.store.engine import Store
from app.store.models import CaseRow, Event, Grading, Submission
from app.submissions.service import Submitted, request_cancel
from app.workers import service as workers
from graders.report import Report
from graders.verdict import State, Verdict
from tests import builders
from tests.threads import at_once


@pytest.fixture
def submitted(store: Store) -> Submitted:
    with store.transaction() as session:
        builders.add_drill(session)
        return builders.add_submission(session, builders.add_user(session))


def take(store: Store, submitted: Submitted, worker_id: str = "w1") -> Claim:
    with store.transaction() as session:
        claim = gradings.claim(session, submitted.grading_id, worker_id=worker_id, lease_s=30)
    assert claim is not None
    return claim


def grading(store: Store, submitted: Submitted) -> Grading:
    with store.reading() as session:
        return session.get_one(Grading, submitted.grading_id)


def told(store: Store, submitted: Submitted) -> list[tuple[int, str]]:
    with store.reading() as session:
        return [(event.number, event.type) for event in events_after(session, submitted.submission_id, 0, 500)]


def test_a_claim_carries_all_that_judging_needs(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)
    package = builders.toy_package()
    assert (claim.slug, claim.version, claim.digest) == ("toy", 1, package.digest)
    assert claim.package == package.to_zip()
    assert claim.source == builders.SOURCE
    assert (claim.attempt, claim.student_attempt, len(claim.seed)) == (1, 1, 64)
    assert claim.queued_at <= claim.claimed_at
    assert claim.claimed_at.tzinfo is not None


def test_of_claims_at_once_one_wins(store: Store, submitted: Submitted) -> None:
    def race(number: int) -> Claim | None:
        with store.transaction() as session:
            return gradings.claim(session, submitted.grading_id, worker_id=f"w{number}", lease_s=30)

    assert len([claim for claim in at_once(8, race) if claim is not None]) == 1
    assert grading(store, submitted).attempt == 1


def test_what_is_finished_or_unknown_cannot_be_claimed(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)
    with store.transaction() as session:
        assert gradings.finish(session, claim, builders.report())
    with store.transaction() as session:
        assert gradings.claim(session, submitted.grading_id, worker_id="w2", lease_s=30) is None
        assert gradings.claim(session, "no-such-grading", worker_id="w2", lease_s=30) is None


def test_events_are_numbered_and_move_the_state(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)
    with store.transaction() as session:
        assert gradings.record_state(session, claim, State.TESTING) == 2
        assert gradings.record_case(session, claim, builders.passed_case()) == 3
        assert gradings.record_state(session, claim, State.MEASURING) == 4
    row = grading(store, submitted)
    assert row.state == "measuring"
    assert row.started_at is not None
    assert told(store, submitted) == [(1, "state"), (2, "state"), (3, "case"), (4, "state")]


@pytest.mark.parametrize("state", [State.QUEUED, State.DONE, State.CANCELLED])
def test_a_worker_writes_no_state_that_begins_or_ends_an_attempt(
    store: Store, submitted: Submitted, state: State
) -> None:
    claim = take(store, submitted)
    with store.transaction() as session, pytest.raises(ValueError, match="cannot become"):
        gradings.record_state(session, claim, state)


def test_finishing_writes_verdict_score_report_and_the_last_event(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)
    cases = [builders.passed_case(1), builders.passed_case(2)]
    with store.transaction() as session:
        gradings.record_state(session, claim, State.TESTING)
        gradings.record_case(session, claim, cases[0])
        assert gradings.finish(session, claim, builders.report(cases, score=20))
    row = grading(store, submitted)
    assert (row.state, row.verdict, row.score, row.max_score) == ("done", "accepted", 20, 60)
    assert row.lease_until is None
    final = Report.model_validate(row.report)
    assert (final.id, final.attempt, final.state) == (submitted.submission_id, 1, State.DONE)
    assert final.timeline.queued_at == row.queued_at
    assert final.timeline.started_at == row.started_at
    assert final.timeline.finished_at == row.finished_at
    assert final.timeline.phases_ms == {"judge": 12.0}
    assert told(store, submitted)[-1] == (4, "done")
    with store.reading() as session:
        assert len(session.scalars(select(CaseRow)).all()) == 2


def test_a_late_result_is_dropped(store: Store, submitted: Submitted) -> None:
    late = take(store, submitted, "w1")
    with store.transaction() as session:
        gradings.give_back(session, late, "the judge died", max_attempts=3)
    current = take(store, submitted, "w2")
    with store.transaction() as session:
        assert not gradings.renew(session, late, lease_s=30).held
        assert not gradings.finish(session, late, builders.report())
        assert not gradings.finish_cancelled(session, late)
        gradings.give_back(session, late, "late", max_attempts=3)
        for write in (
            lambda: gradings.record_state(session, late, State.TESTING),
            lambda: gradings.record_case(session, late, builders.passed_case()),
        ):
            with pytest.raises(LeaseLost):
                write()
    row = grading(store, submitted)
    assert (row.state, row.attempt, row.worker_id) == ("compiling", 2, "w2")
    with store.transaction() as session:
        assert gradings.finish(session, current, builders.report())


def test_a_second_attempt_restarts_the_story(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)
    with store.transaction() as session:
        gradings.record_case(session, claim, builders.passed_case())
        gradings.give_back(session, claim, "the GPU fell off the bus", max_attempts=3)
    row = grading(store, submitted)
    assert (row.state, row.worker_id, row.sent_at) == ("queued", None, None)
    assert row.faults[0]["reason"] == "the GPU fell off the bus"
    assert take(store, submitted, "w2").attempt == 2
    kinds = [kind for _, kind in told(store, submitted)]
    assert kinds == ["state", "case", "state", "restarted", "state"]


def test_an_expired_lease_is_held_until_somebody_takes_it_back(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)
    with store.transaction() as session:
        session.execute(update(Grading).values(lease_until=utc_now() - timedelta(seconds=60)))
        renewal = gradings.renew(session, claim, lease_s=30)
    assert renewal.held
    lease_until = grading(store, submitted).lease_until
    assert lease_until is not None
    assert lease_until > utc_now()


def test_three_failed_attempts_end_as_a_judge_error_that_is_not_charged(store: Store, submitted: Submitted) -> None:
    info = builders.worker_info()
    with store.transaction() as session:
        workers.register(session, info)
    for number in range(3):
        claim = take(store, submitted, info.id)
        assert claim.attempt == number + 1
        with store.transaction() as session:
            gradings.give_back(session, claim, f"fault {number}", max_attempts=3)
    row = grading(store, submitted)
    assert (row.state, row.verdict, row.score) == ("done", "judge_error", 0)
    assert [fault["reason"] for fault in row.faults] == ["fault 0", "fault 1", "fault 2"]
    final = Report.model_validate(row.report)
    assert final.environment == info.environment
    assert told(store, submitted)[-1][1] == "done"
    with store.transaction() as session:
        first = session.get_one(Submission, submitted.submission_id)
        assert not first.charged
        ada = builders.Principal(first.user_id, "ada", builders.Role.STUDENT, builders.Via.TOKEN)
        again = builders.add_submission(session, ada)
        assert session.get_one(Submission, again.submission_id).attempt == first.attempt


def test_a_judge_error_of_the_judge_itself_is_not_charged_either(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)
    refused = builders.report(
        [], verdict=Verdict.JUDGE_ERROR, score=0, cause=builders.Cause(key="submission.interpreter_only")
    )
    with store.transaction() as session:
        assert gradings.finish(session, claim, refused)
        assert not session.get_one(Submission, submitted.submission_id).charged


def test_cancelling_a_running_grading_is_seen_by_its_worker(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)
    with store.transaction() as session:
        assert not gradings.renew(session, claim, lease_s=30).cancel_requested
        request_cancel(session, session.get_one(Submission, submitted.submission_id))
    assert grading(store, submitted).state == "compiling"
    with store.transaction() as session:
        renewal = gradings.renew(session, claim, lease_s=30)
        assert (renewal.held, renewal.cancel_requested) == (True, True)
        assert gradings.finish_cancelled(session, claim)
    row = grading(store, submitted)
    assert (row.state, row.verdict, row.report) == ("cancelled", None, None)


def test_what_was_claimed_is_charged_though_it_was_cancelled_in_the_queue(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)
    with store.transaction() as session:
        gradings.hand_on(session, claim)
    with store.transaction() as session:
        request_cancel(session, session.get_one(Submission, submitted.submission_id))
    assert grading(store, submitted).state == "cancelled"
    with store.reading() as session:
        assert session.get_one(Submission, submitted.submission_id).charged


def test_what_is_cancelled_while_it_is_given_back_is_not_queued_again(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)

    def give_back() -> None:
        with store.transaction() as session:
            gradings.give_back(session, claim, "the judge died", max_attempts=3)

    with store.transaction() as session:
        request_cancel(session, session.get_one(Submission, submitted.submission_id))
        session.flush()
        thread = threading.Thread(target=give_back)
        thread.start()
        thread.join(0.2)
        assert thread.is_alive(), "it waits for the student's word"
    thread.join(20)
    assert grading(store, submitted).state == "cancelled"


def test_events_that_come_at_once_are_numbered_one_after_the_other(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)

    def tell(number: int) -> int:
        with store.transaction() as session:
            if number % 2:
                return gradings.record_state(session, claim, State.TESTING)
            return gradings.record_case(session, claim, builders.passed_case(number + 1))

    assert sorted(at_once(6, tell)) == [2, 3, 4, 5, 6, 7]
    assert [number for number, _ in told(store, submitted)] == [1, 2, 3, 4, 5, 6, 7]


def test_an_end_and_a_retired_lease_at_once_are_one_of_both(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)

    def end(number: int) -> bool:
        with store.transaction() as session:
            if number == 0:
                return gradings.finish(session, claim, builders.report())
            gradings.give_back(session, claim, "it fell silent", max_attempts=3)
            return False

    (stored, _) = at_once(2, end)
    row = grading(store, submitted)
    assert (row.state, len(row.faults)) == (("done", 0) if stored else ("queued", 1))
    assert [kind for _, kind in told(store, submitted)].count("done") == int(stored)


def test_what_a_submission_prints_is_kept_to_the_letter(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)
    printed = "a NUL \0, 核, \U0001f600 and what was no UTF-8: \ufffd"
    cases = [builders.passed_case(stdout=printed)]
    with store.transaction() as session:
        gradings.record_case(session, claim, cases[0])
        assert gradings.finish(session, claim, builders.report(cases))
    report = Report.model_validate(grading(store, submitted).report)
    with store.reading() as session:
        (row,) = session.scalars(select(CaseRow))
        (event,) = session.scalars(select(Event).where(Event.type == "case"))
    assert [report.cases[0].stdout, row.result["stdout"], event.data["stdout"]] == [printed] * 3


def test_what_is_cancelled_is_not_queued_again(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)
    with store.transaction() as session:
        request_cancel(session, session.get_one(Submission, submitted.submission_id))
        gradings.give_back(session, claim, "the judge died", max_attempts=3)
    assert grading(store, submitted).state == "cancelled"


def test_numbers_that_json_does_not_have_are_kept_as_null(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)
    with store.transaction() as session:
        gradings.record_case(session, claim, builders.passed_case(duration_ms=float("nan")))
    with store.reading() as session:
        event = session.scalars(select(Event).where(Event.type == "case")).one()
    assert event.data["duration_ms"] is None


def test_the_line_of_a_queue_has_what_was_sent_to_it(store: Store, submitted: Submitted) -> None:
    def next_of(queue: str) -> str | None:
        with store.reading() as session:
            return next_waiting(session, queue)

    assert next_of("cpu") is None, "what was not sent may go to another queue"
    with store.transaction() as session:
        second = builders.add_submission(session, builders.add_user(session, "bob"))
        session.execute(update(Grading).values(queue="cpu", sent_at=utc_now()))
    assert (next_of("cpu"), next_of("gpu")) == (submitted.grading_id, None)
    take(store, submitted)
    assert next_of("cpu") == second.grading_id


def test_what_a_stopping_worker_hands_on_is_queued_again_and_counts_as_no_failure(
    store: Store, submitted: Submitted
) -> None:
    for attempt in range(1, 6):
        claim = take(store, submitted)
        assert claim.attempt == attempt
        with store.transaction() as session:
            gradings.hand_on(session, claim)
    found = grading(store, submitted)
    assert (found.state, found.faults, found.sent_at) == ("queued", [], None)


def test_handing_on_ends_nothing_however_often_it_failed_before(store: Store, submitted: Submitted) -> None:
    for number in range(5):
        with store.transaction() as session:
            gradings.give_back(session, take(store, submitted), f"fault {number}", max_attempts=6)
    with store.transaction() as session:
        gradings.hand_on(session, take(store, submitted))
    assert grading(store, submitted).state == "queued"


def test_what_was_cancelled_is_not_handed_on(store: Store, submitted: Submitted) -> None:
    claim = take(store, submitted)
    with store.transaction() as session:
        request_cancel(session, session.get_one(Submission, submitted.submission_id))
    with store.transaction() as session:
        gradings.hand_on(session, claim)
    assert grading(store, submitted).state == "cancelled"
