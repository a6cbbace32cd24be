"""What a worker does to a grading: claim it, renew the lease, tell what happens, end it.

Every function takes a session and leaves the commit to the caller; wake the listeners
(``app.queue.wakeup``) after it. A claim is fenced by the grading's attempt number: once another attempt
has begun, or the sweeper has taken the grading back, whatever an old claim still says is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, func, select
from sqlalchemy.orm import Session

from app.gradings.events import EventType, append_event
from app.gradings.line import RUNNING, next_waiting
from app.gradings.outcomes import cancel, end_with_report, release
from app.store.columns import as_json, utc_now
from app.store.models import CaseRow, Drill, DrillVersion, Grading, Submission
from app.store.updates import compare_and_set
from graders.report import CaseResult, Report
from graders.verdict import State


class LeaseLost(Exception):
    """Another attempt holds the grading, or it has ended: stop, and write nothing more."""


@dataclass(frozen=True)
class Claim:
    """One attempt at one grading, with all that judging needs."""

    grading_id: str
    submission_id: str
    attempt: int
    source: str
    slug: str
    version: int
    digest: str
    package: bytes
    seed: str
    student_attempt: int
    queued_at: datetime
    claimed_at: datetime


@dataclass(frozen=True)
class Renewal:
    """``held`` False: stop. ``cancel_requested``: stop, then ``finish_cancelled``."""

    held: bool
    cancel_requested: bool


def claim(session: Session, grading_id: str, *, worker_id: str, lease_s: float) -> Claim | None:
    """Take a queued grading for ``lease_s`` seconds. None: somebody else's, finished, or unknown; drop the message."""
    now = utc_now()
    taken = compare_and_set(
        session,
        Grading,
        and_(Grading.id == grading_id, Grading.state == State.QUEUED.value),
        state=State.COMPILING.value,
        attempt=Grading.attempt + 1,
        worker_id=worker_id,
        lease_until=now + timedelta(seconds=lease_s),
        claimed_at=now,
        started_at=None,
    )
    if not taken:
        return None
    made = _read_claim(session, grading_id)
    if made.attempt > 1:
        append_event(session, made.submission_id, grading_id, EventType.RESTARTED, {"attempt": made.attempt})
    append_event(session, made.submission_id, grading_id, EventType.STATE, {"state": State.COMPILING.value})
    return made


def claim_next(session: Session, queue: str, *, worker_id: str, lease_s: float) -> Claim | None:
    """Take what is first in the line of those that were sent to the queue. None: nobody waits.

    Whoever finds that another has just taken it looks again: a message that took nothing, while somebody waits, would
    be missing in the end.
    """
    while (grading_id := next_waiting(session, queue)) is not None:
        made = claim(session, grading_id, worker_id=worker_id, lease_s=lease_s)
        if made is not None:
            return made
    return None


def claim_again(session: Session, claim: Claim, *, worker_id: str, lease_s: float) -> bool:
    """Hold on to a claim whose commit was not confirmed. False: it was not made, or is lost."""
    ours = and_(_held_by(claim), Grading.worker_id == worker_id)  # another worker's attempt may have the same number
    return compare_and_set(session, Grading, ours, lease_until=utc_now() + timedelta(seconds=lease_s))


def renew(session: Session, claim: Claim, *, lease_s: float) -> Renewal:
    """Extend the lease. A lease that ran out is still held while nobody has taken the grading back."""
    held = compare_and_set(session, Grading, _held_by(claim), lease_until=utc_now() + timedelta(seconds=lease_s))
    asked = select(Submission.cancel_requested_at).where(Submission.id == claim.submission_id)
    return Renewal(held=held, cancel_requested=session.scalars(asked).one() is not None)


def record_state(session: Session, claim: Claim, state: State) -> int:
    """Tell how far the attempt has come and return the event's number. Raises LeaseLost, and ValueError for a state
    that begins or ends an attempt: ``claim`` and ``finish`` write those."""
    if state not in RUNNING:
        raise ValueError(f"a running grading cannot become {state}")
    _hold(session, claim, state=state.value, started_at=func.coalesce(Grading.started_at, utc_now()))
    return append_event(session, claim.submission_id, claim.grading_id, EventType.STATE, {"state": state.value})


def record_case(session: Session, claim: Claim, case: CaseResult) -> int:
    """Keep a case's result and tell it. Returns the event's number; raises LeaseLost."""
    _hold(session, claim)
    session.add(_case_row(claim, case))
    return append_event(session, claim.submission_id, claim.grading_id, EventType.CASE, as_json(case))


def finish(session: Session, claim: Claim, report: Report) -> bool:
    """End the grading with its report. False: the attempt no longer holds the grading, nothing was written.

    The report's identity and its times are filled in from the database, which knows them better.
    """
    final = _completed(session, claim, report)
    if not end_with_report(session, claim.submission_id, claim.grading_id, _held_by(claim), final):
        return False
    _replace_cases(session, claim, final.cases)
    return True


def finish_cancelled(session: Session, claim: Claim) -> bool:
    """End the grading as cancelled, without a verdict. False: the attempt no longer holds it."""
    return cancel(session, claim.submission_id, claim.grading_id, _held_by(claim))


def give_back(session: Session, claim: Claim, reason: str, *, max_attempts: int) -> None:
    """Our fault, not the student's: queue the grading again, or end it as ``judge_error`` after ``max_attempts``.

    ``reason`` is for staff. No attempt is charged to the student. Does nothing when the lease is lost.
    """
    release(session, claim.grading_id, _held_by(claim), reason, max_attempts=max_attempts)


def hand_on(session: Session, claim: Claim) -> None:
    """The worker stops, which is nobody's fault: queue the grading again, for another. Does nothing when the lease is
    lost."""
    release(session, claim.grading_id, _held_by(claim), None)


def _held_by(claim: Claim) -> ColumnElement[bool]:
    return and_(
        Grading.id == claim.grading_id,
        Grading.attempt == claim.attempt,
        Grading.state.in_([state.value for state in RUNNING]),
    )


def _hold(session: Session, claim: Claim, **values: Any) -> None:
    """Check the lease and lock the row for the rest of the transaction. Raises LeaseLost."""
    if not compare_and_set(session, Grading, _held_by(claim), **(values or {"attempt": Grading.attempt})):
        raise LeaseLost(f"grading {claim.grading_id}: attempt {claim.attempt} no longer holds it")


def _read_claim(session: Session, grading_id: str) -> Claim:
    query = (
        select(
            Grading.id.label("grading_id"),
            Grading.submission_id,
            Grading.attempt,
            Submission.source,
            Drill.slug,
            DrillVersion.number.label("version"),
            DrillVersion.digest,
            DrillVersion.package,
            Grading.seed,
            Submission.attempt.label("student_attempt"),
            Grading.queued_at,
            Grading.claimed_at,
        )
        .join(Submission, Grading.submission_id == Submission.id)
        .join(DrillVersion, Grading.drill_version_id == DrillVersion.id)
        .join(Drill, DrillVersion.drill_id == Drill.id)
        .where(Grading.id == grading_id)
    )
    return Claim(**session.execute(query).one()._asdict())


def _completed(session: Session, claim: Claim, report: Report) -> Report:
    started_at = session.scalars(select(Grading.started_at).where(Grading.id == claim.grading_id)).one()
    timeline = report.timeline.model_copy(
        update={
            "queued_at": claim.queued_at,
            "claimed_at": claim.claimed_at,
            "started_at": report.timeline.started_at or started_at,
            "finished_at": utc_now(),
        }
    )
    return report.model_copy(
        update={
            "id": claim.submission_id,
            "drill": claim.slug,
            "drill_version": claim.version,
            "attempt": claim.student_attempt,
            "state": State.DONE,
            "timeline": timeline,
        }
    )


def _case_row(claim: Claim, case: CaseResult) -> CaseRow:
    return CaseRow(
        grading_id=claim.grading_id,
        attempt=claim.attempt,
        ordinal=case.ordinal,
        category=case.category,
        status=case.status.value,
        result=as_json(case),
    )


def _replace_cases(session: Session, claim: Claim, cases: list[CaseResult]) -> None:
    """The report is the last word: it may hold cases that were never told, such as those not run."""
    old = (CaseRow.grading_id == claim.grading_id, CaseRow.attempt == claim.attempt)
    session.execute(delete(CaseRow).where(*old).execution_options(synchronize_session="fetch"))
    session.add_all(_case_row(claim, case) for case in cases)
    session.flush()
