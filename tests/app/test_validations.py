"""Validations: claims, leases, events, endings, and what survives the loss of a worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from app.drills import versions
from app.drills.versions import Uploaded
from app.errors import Problem
from app.queue.celery import VALIDATE_TASK_NAME, make_celery
from app.queue.dispatch import Dispatcher
from app.queue.sweeper import Sweeper
from app.queue.wakeup import Wakeups
from app.queue.work import VALIDATION
from app.settings import Settings
from app.store.columns import utc_now
from app.store.engine import Store
from app.store.models import DrillVersion, Validation
from app.validations import service as validations
from app.validations.events import Progress, events_after, progress
from app.validations.service import Claim, LeaseLost
from app.workers import service as workers
from graders.validation import Finding, FindingCode, ValidationReport
from tests import builders
from tests.broker import running_broker
from tests.threads import at_once
from tests.uploads import toy_upload
from tests.validated import validation_report

LONG_AGO = timedelta(minutes=5)


@pytest.fixture
def ines(store: Store) -> builders.Principal:
    with store.transaction() as session:
        return builders.add_user(session, "ines", builders.Role.INSTRUCTOR)


@pytest.fixture
def uploaded(store: Store, ines: builders.Principal) -> Uploaded:
    with store.transaction() as session:
        return versions.upload(session, ines, toy_upload())


def take(store: Store, uploaded: Uploaded, worker_id: str = "w1") -> Claim:
    assert uploaded.validation_id is not None
    with store.transaction() as session:
        claim = validations.claim(session, uploaded.validation_id, worker_id=worker_id, lease_s=30)
    assert claim is not None
    return claim


def state(store: Store, uploaded: Uploaded) -> tuple[str, str]:
    """Of the version and of its validation."""
    with store.reading() as session:
        version = session.get_one(DrillVersion, uploaded.version.id)
        return version.state, session.get_one(Validation, uploaded.validation_id).state


def told(store: Store, uploaded: Uploaded) -> list[tuple[int, str, dict[str, Any]]]:
    with store.reading() as session:
        return [(event.number, event.type, event.data) for event in events_after(session, uploaded.version.id, 0, 500)]


def test_an_upload_waits_for_its_validation(store: Store, uploaded: Uploaded) -> None:
    assert state(store, uploaded) == ("validating", "queued")
    assert told(store, uploaded) == [(1, "state", {"state": "queued"})]


def test_a_claim_carries_all_that_validating_needs(store: Store, uploaded: Uploaded) -> None:
    claim = take(store, uploaded)
    package = toy_upload()
    assert (claim.slug, claim.version, claim.digest, claim.attempt) == ("copy", 1, package.digest, 1)
    assert claim.package == package.to_zip()
    with store.transaction() as session:
        assert validations.claim(session, claim.validation_id, worker_id="w2", lease_s=30) is None
        assert validations.claim(session, "no such validation", worker_id="w2", lease_s=30) is None


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (validation_report(), "valid"),
        (validation_report(Finding.of(FindingCode.CASE_SLOW, case="basic/one")), "valid"),
        (validation_report(Finding.of(FindingCode.NOT_CAUGHT, submission="wrong_answer/zeros")), "invalid"),
        (validation_report(complete=False), "invalid"),
    ],
)
def test_the_report_says_how_the_version_stands(
    store: Store, uploaded: Uploaded, report: ValidationReport, expected: str
) -> None:
    claim = take(store, uploaded)
    with store.transaction() as session:
        validations.tell_stage(session, claim, "submissions")
        validations.tell_submission(session, claim, "wrong_answer/zeros", "wrong_answer", done=1, total=2)
        assert validations.finish(session, claim, report)
    assert state(store, uploaded) == (expected, "done")
    assert [kind for _, kind, _ in told(store, uploaded)] == ["state", "state", "stage", "submission", "done"]
    assert told(store, uploaded)[-1] == (5, "done", {"state": expected, "report": True})
    with store.reading() as session:
        kept = ValidationReport.model_validate(session.get_one(Validation, claim.validation_id).report)
    assert (kept.slug, kept.digest, kept.findings) == ("copy", toy_upload().digest, report.findings)


def test_a_late_result_is_dropped(store: Store, uploaded: Uploaded) -> None:
    late = take(store, uploaded)
    with store.transaction() as session:
        validations.give_back(session, late, "the judge died", max_attempts=3)
    current = take(store, uploaded, "w2")
    assert current.attempt == 2
    with store.transaction() as session:
        assert not validations.renew(session, late, lease_s=30)
        assert validations.renew(session, current, lease_s=30)
        assert not validations.finish(session, late, validation_report())
        validations.give_back(session, late, "late", max_attempts=3)
        with pytest.raises(LeaseLost):
            validations.tell_stage(session, late, "code")
    assert state(store, uploaded) == ("validating", "running")
    assert [kind for _, kind, _ in told(store, uploaded)] == ["state", "state", "state", "restarted", "state"]


def test_three_failed_attempts_end_it_without_a_report_and_it_can_be_asked_for_again(
    store: Store, ines: builders.Principal, uploaded: Uploaded
) -> None:
    for number in range(3):
        with store.transaction() as session:
            validations.give_back(session, take_in(session, uploaded), f"fault {number}", max_attempts=3)
    assert state(store, uploaded) == ("invalid", "done")
    with store.reading() as session:
        row = session.get_one(Validation, uploaded.validation_id)
        assert ([fault["reason"] for fault in row.faults], row.report) == (["fault 0", "fault 1", "fault 2"], None)
    with store.transaction() as session:
        again = versions.validate_again(session, ines, "copy", 1)
        assert again != uploaded.validation_id
    with store.transaction() as session, pytest.raises(Problem, match="is validating"):
        versions.validate_again(session, ines, "copy", 1)


def take_in(session: Any, uploaded: Uploaded) -> Claim:
    assert uploaded.validation_id is not None
    claim = validations.claim(session, uploaded.validation_id, worker_id="w", lease_s=30)
    assert claim is not None
    return claim


@pytest.fixture
def queue(store: Store, settings: Settings) -> Iterator[tuple[Dispatcher, Sweeper, Any]]:
    """The sending side, a broker, and a worker that registered."""
    with running_broker(settings) as client:
        celery = make_celery(settings)
        dispatcher = Dispatcher(store, celery, settings)
        with store.transaction() as session:
            workers.register(session, builders.worker_info())
        yield dispatcher, Sweeper(store, dispatcher, Wakeups(client), client, settings), celery
        celery.close()


def test_a_validation_goes_to_a_worker_as_a_task_of_its_own(
    uploaded: Uploaded, queue: tuple[Dispatcher, Sweeper, Any]
) -> None:
    dispatcher, _, celery = queue
    assert uploaded.validation_id is not None
    assert dispatcher.dispatch(uploaded.validation_id, VALIDATION)
    assert not dispatcher.dispatch(uploaded.validation_id, VALIDATION)
    with celery.connection_for_read() as connection, connection.SimpleQueue("cpu") as messages:
        message = messages.get(timeout=5)
        message.ack()
    assert (message.headers["task"], message.payload[0]) == (VALIDATE_TASK_NAME, [uploaded.validation_id])


def test_a_validation_that_was_never_sent_is_sent_by_the_sweeper(
    store: Store, uploaded: Uploaded, queue: tuple[Dispatcher, Sweeper, Any]
) -> None:
    queue[1].sweep()
    with store.reading() as session:
        assert session.get_one(Validation, uploaded.validation_id).queue == "cpu"


def test_a_validation_whose_message_was_overtaken_is_sent_again(
    store: Store, ines: builders.Principal, uploaded: Uploaded, queue: tuple[Dispatcher, Sweeper, Any]
) -> None:
    dispatcher, sweeper, _ = queue
    with store.transaction() as session:
        other = versions.upload(session, ines, toy_upload("other"))
    with store.transaction() as session:
        later = versions.upload(session, ines, toy_upload("third"))
    for age, sent in ((3, uploaded), (2, other), (1, later)):
        assert sent.validation_id is not None
        assert dispatcher.dispatch(sent.validation_id, VALIDATION)
        with store.transaction() as session:
            row = session.get_one(Validation, sent.validation_id)
            row.sent_at = utc_now() - age * LONG_AGO
    take(store, other)
    sweeper.sweep()
    with store.reading() as session:
        rows = [session.get_one(Validation, sent.validation_id) for sent in (uploaded, later)]
    assert [row.sent_at > utc_now() - LONG_AGO for row in rows if row.sent_at] == [True, False]


def test_a_validation_lost_with_its_worker_is_begun_again(
    store: Store, uploaded: Uploaded, queue: tuple[Dispatcher, Sweeper, Any]
) -> None:
    late = take(store, uploaded, "lost")
    with store.transaction() as session:
        session.execute(update(Validation).values(lease_until=utc_now() - LONG_AGO))
    queue[1].sweep()
    assert state(store, uploaded) == ("validating", "queued")
    current = take(store, uploaded, "w2")
    with store.transaction() as session:
        assert not validations.finish(session, late, validation_report())
        assert validations.finish(session, current, validation_report())
    with store.reading() as session:
        (fault,) = session.get_one(Validation, uploaded.validation_id).faults
    assert "lost fell silent" in fault["reason"]


def test_the_same_tree_again_asks_for_nothing_new(store: Store, ines: builders.Principal, uploaded: Uploaded) -> None:
    with store.transaction() as session:
        again = versions.upload(session, ines, toy_upload())
        assert (again.version.id, again.validation_id) == (uploaded.version.id, None)
        other = versions.upload(session, ines, toy_upload(changed={"statement.en.md": "Copy. Basics, edges."}))
        assert other.version.number == 2
        assert other.validation_id is not None


def test_uploads_of_one_tree_at_once_ask_for_one_validation(store: Store, ines: builders.Principal) -> None:
    def upload(_number: int) -> tuple[int, bool]:
        with store.transaction() as session:
            made = versions.upload(session, ines, toy_upload())
            return made.version.number, made.validation_id is not None

    assert sorted(at_once(4, upload)) == [(1, False), (1, False), (1, False), (1, True)]


def test_of_those_who_ask_again_at_once_one_is_heard(
    store: Store, ines: builders.Principal, uploaded: Uploaded
) -> None:
    claim = take(store, uploaded)
    with store.transaction() as session:
        assert validations.finish(session, claim, validation_report())

    def ask(_number: int) -> bool:
        with suppress(Problem), store.transaction() as session:
            versions.validate_again(session, ines, "copy", 1)
            return True
        return False

    assert sorted(at_once(4, ask)) == [False, False, False, True]


def test_times_are_kept(store: Store, uploaded: Uploaded) -> None:
    before = datetime.now(UTC)
    claim = take(store, uploaded)
    with store.transaction() as session:
        validations.finish(session, claim, validation_report())
    with store.reading() as session:
        row = session.get_one(Validation, uploaded.validation_id)
    assert row.claimed_at is not None
    assert row.started_at is not None
    assert row.finished_at is not None
    assert row.queued_at <= before <= row.claimed_at <= row.finished_at
    assert row.lease_until is None


def test_progress_is_what_was_told_since_the_last_attempt_began(store: Store, uploaded: Uploaded) -> None:
    def now() -> Progress:
        with store.reading() as session:
            return progress(session, claim.validation_id)

    claim = take(store, uploaded)
    assert now() == Progress()
    with store.transaction() as session:
        validations.tell_stage(session, claim, "submissions")
        validations.tell_submission(session, claim, "accepted/a", None, done=1, total=2)
        validations.tell_submission(session, claim, "accepted/b", "accepted", done=2, total=2)
    assert now() == Progress("submissions", (("accepted/a", None), ("accepted/b", "accepted")), 2)
    with store.transaction() as session:
        validations.give_back(session, claim, "the judge died", max_attempts=3)
    take(store, uploaded, "w2")
    assert now() == Progress()
