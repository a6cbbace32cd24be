"""How a grading ends, or begins again, when no report comes: shared by the worker's functions and the sweeper."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from app.gradings.events import EventType, append_event
from app.store.columns import as_json, utc_now
from app.store.models import Grading, Submission, Worker
from app.store.updates import compare_and_set
from graders.manifest import Manifest
from graders.report import Cause, Environment, Message, Performance, PerformanceStatus, Report, Timeline
from graders.verdict import State, Verdict

_GAVE_UP = Cause(key="submission.judge_gave_up")
_NOT_REACHED = Message(key="performance.not_reached")


class Released(StrEnum):
    """What became of a grading that was given back."""

    LOST = "lost"
    REQUEUED = "requeued"
    CANCELLED = "cancelled"
    JUDGE_ERROR = "judge_error"


def release(
    session: Session,
    grading_id: str,
    held: ColumnElement[bool],
    reason: str | None,
    *,
    max_attempts: int | None = None,
) -> Released:
    """Take a grading back from its attempt if ``held`` is still true of its row, and decide how it goes on.

    Without a ``reason`` nothing went wrong, and the attempt does not count among the ``max_attempts`` after which it
    ends (None: it does not).
    """
    row = session.execute(
        select(Grading.submission_id, Grading.attempt, Grading.faults).where(held).with_for_update(key_share=True)
    ).one_or_none()
    if row is None:
        return Released.LOST
    # Asked only now: whoever cancels holds the lock that was waited for.
    asked = select(Submission.cancel_requested_at).where(Submission.id == row.submission_id)
    if session.scalars(asked).one() is not None:
        return Released.CANCELLED if cancel(session, row.submission_id, grading_id, held) else Released.LOST
    faults = with_fault(row.faults, row.attempt, reason)
    if max_attempts is not None and len(faults) >= max_attempts:
        return _give_up(session, row.submission_id, grading_id, held, faults)
    if not compare_and_set(session, Grading, held, **_queued_again(), faults=faults):
        return Released.LOST
    append_event(session, row.submission_id, grading_id, EventType.STATE, {"state": State.QUEUED.value})
    return Released.REQUEUED


def with_fault(faults: list[Any], attempt: int, reason: str | None) -> list[Any]:
    """The reasons why attempts failed, with another one. None: nothing went wrong."""
    if reason is None:
        return faults
    return [*faults, {"attempt": attempt, "reason": reason, "at": utc_now().isoformat()}]


def end_with_report(
    session: Session, submission_id: str, grading_id: str, where: ColumnElement[bool], report: Report, **values: Any
) -> bool:
    """End a grading with a report if ``where`` is still true of its row.

    A judge error is ours: the submission gives its attempt number back and leaves the quota.
    """
    ending = {
        "state": State.DONE.value,
        "verdict": report.verdict.value,
        "score": report.score,
        "max_score": report.max_score,
    }
    finished_at = report.timeline.finished_at
    values |= {**ending, "report": as_json(report), "finished_at": finished_at, "lease_until": None}
    if not compare_and_set(session, Grading, where, **values):
        return False
    if report.verdict is Verdict.JUDGE_ERROR:
        session.execute(update(Submission).where(Submission.id == submission_id).values(charged=False))
    append_event(session, submission_id, grading_id, EventType.DONE, ending)
    return True


def cancel(session: Session, submission_id: str, grading_id: str, where: ColumnElement[bool]) -> bool:
    """End a grading as cancelled if ``where`` is still true of its row. It has no verdict and no report."""
    ending = {"state": State.CANCELLED.value, "verdict": None, "score": None, "max_score": None}
    if not compare_and_set(session, Grading, where, **ending, finished_at=utc_now(), lease_until=None):
        return False
    append_event(session, submission_id, grading_id, EventType.DONE, ending)
    return True


def _queued_again() -> dict[str, Any]:
    return {"state": State.QUEUED.value, "worker_id": None, "lease_until": None, "queue": None, "sent_at": None}


def _give_up(
    session: Session, submission_id: str, grading_id: str, held: ColumnElement[bool], faults: list[Any]
) -> Released:
    report = _judge_error(session, grading_id)
    ended = end_with_report(session, submission_id, grading_id, held, report, faults=faults)
    return Released.JUDGE_ERROR if ended else Released.LOST


def _judge_error(session: Session, grading_id: str) -> Report:
    """The report of a grading that no attempt could end: it says nothing of the student's code."""
    grading = session.get_one(Grading, grading_id, populate_existing=True)
    manifest = Manifest.model_validate(grading.version.manifest)
    return Report(
        id=grading.submission_id,
        drill=manifest.slug,
        drill_version=grading.version.number,
        attempt=grading.submission.attempt,
        state=State.DONE,
        verdict=Verdict.JUDGE_ERROR,
        score=0,
        max_score=manifest.correctness_points + manifest.performance_points,
        environment=_environment(session, grading),
        timeline=Timeline(
            queued_at=grading.queued_at,
            claimed_at=grading.claimed_at,
            started_at=grading.started_at,
            finished_at=utc_now(),
        ),
        cause=_GAVE_UP,
        expected_cases=0,
        performance=Performance(
            status=PerformanceStatus.NOT_REACHED, reason=_NOT_REACHED, max_points=manifest.performance_points
        ),
    )


def _environment(session: Session, grading: Grading) -> Environment:
    """Of the last worker that tried, if it is still known."""
    worker = session.get(Worker, grading.worker_id) if grading.worker_id else None
    if worker is not None:
        return Environment.model_validate(worker.environment)
    mode = "gpu" if grading.queue == "gpu" else "interpreter"
    unknown = "unknown"
    return Environment(mode=mode, python=unknown, torch=unknown, triton=unknown, sandbox=unknown)
