"""Submissions as their readers may see them: the one place for REST, pages and exports to read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session, defaultload, defer, joinedload

from app.access.principals import Principal
from app.errors import Problem
from app.gradings.events import last_number
from app.gradings.line import position
from app.store.models import CaseRow, Drill, Grading, Submission, User
from graders.report import CaseResult, Report, Timeline
from graders.verdict import State, Verdict
from graders.visibility import hidden_passed, visible_case, visible_report


@dataclass(frozen=True)
class StaffView:
    """What only staff see of a submission. ``gradings`` are all of them, oldest first."""

    seed: str
    worker_id: str | None
    grading_attempt: int
    faults: list[Any]
    gradings: list[Grading]


@dataclass(frozen=True)
class SubmissionView:
    """One submission, filtered for its reader.

    ``cases`` are those known so far; ``report`` comes at the end. ``queue_position`` counts from 1 while
    queued. ``hidden`` is (passed, judged) of the hidden cases. ``last_event`` is where a stream goes on.
    """

    submission: Submission
    grading: Grading
    cases: list[CaseResult]
    report: Report | None
    hidden: tuple[int, int] | None
    queue_position: int | None
    last_event: int
    staff: StaffView | None

    @property
    def state(self) -> State:
        return State(self.grading.state)

    @property
    def verdict(self) -> Verdict | None:
        return Verdict(self.grading.verdict) if self.grading.verdict else None

    @property
    def timeline(self) -> Timeline:
        if self.report is not None:
            return self.report.timeline
        row = self.grading
        return Timeline(
            queued_at=row.queued_at,
            claimed_at=row.claimed_at,
            started_at=row.started_at,
            finished_at=row.finished_at,
        )


@dataclass(frozen=True)
class Page:
    """A part of a list, newest first. ``next_cursor`` None: there is no more."""

    items: list[Grading]
    next_cursor: str | None


def readable(session: Session, principal: Principal, submission_id: str) -> Submission:
    """The submission, if the reader may see it. Raises Problem(not-found), the same for what is not theirs."""
    submission = session.get(Submission, submission_id)
    if submission is None or not (principal.staff or submission.user_id == principal.user_id):
        raise Problem("not-found", f"There is no submission {submission_id!r} that you may see.")
    return submission


def view(session: Session, principal: Principal, submission_id: str) -> SubmissionView:
    """A submission with its current grading. Raises Problem(not-found)."""
    readable(session, principal, submission_id)
    grading = session.scalars(_current().where(Grading.submission_id == submission_id)).one()
    full = Report.model_validate(grading.report) if grading.report else None
    report = visible_report(full, staff=principal.staff) if full else None
    return SubmissionView(
        submission=grading.submission,
        grading=grading,
        cases=report.cases if report else _cases_so_far(session, grading, staff=principal.staff),
        report=report,
        hidden=hidden_passed(full) if full else None,
        queue_position=position(session, grading.id) if grading.state == State.QUEUED.value else None,
        last_event=last_number(session, submission_id),
        staff=_staff_view(session, grading) if principal.staff else None,
    )


def listing(
    session: Session,
    principal: Principal,
    *,
    drill: str | None = None,
    user: str | None = None,
    cursor: UUID | None = None,
    limit: int = 50,
) -> Page:
    """The current gradings of submissions, newest first; students see their own. ``user`` is a name or an id."""
    query = select(Submission.id)
    if not principal.staff:
        query = query.where(Submission.user_id == principal.user_id)
    if drill is not None:
        query = query.where(Submission.drill_id == select(Drill.id).where(Drill.slug == drill).scalar_subquery())
    if user is not None:
        query = query.where(Submission.user_id.in_(select(User.id).where(or_(User.name == user, User.id == user))))
    if cursor is not None:
        query = query.where(Submission.id < str(cursor))
    # Chosen from one table's indices alone: joined first, all that there is would be read and sorted for each page.
    ids = session.scalars(query.order_by(Submission.id.desc()).limit(limit + 1)).all()
    listed = _current().where(Grading.submission_id.in_(ids[:limit])).order_by(Grading.submission_id.desc())
    items = list(session.scalars(listed.options(*_BRIEFLY)))
    return Page(items=items, next_cursor=ids[limit - 1] if len(ids) > limit else None)


def best_by_drill(session: Session, principal: Principal) -> dict[str, Grading]:
    """Of each drill (by id) the grading with the reader's highest score, of equals the earliest."""
    place = func.row_number().over(partition_by=Submission.drill_id, order_by=(Grading.score.desc(), Submission.id))
    counted = (
        select(Grading.id, place.label("place"))
        .join(Submission, Grading.submission_id == Submission.id)
        .where(Submission.user_id == principal.user_id, Grading.is_current, Grading.state == State.DONE.value)
        .where(Grading.verdict != Verdict.JUDGE_ERROR.value)
        .subquery()
    )
    best = _current().join(counted, Grading.id == counted.c.id).where(counted.c.place == 1)
    return {grading.submission.drill_id: grading for grading in session.scalars(best.options(*_BRIEFLY))}


_BRIEFLY = (defer(Grading.report), defaultload(Grading.submission).defer(Submission.source))
"""For lists, which show neither: they may be long."""


def _current() -> Select[Grading]:
    of_submission = joinedload(Grading.submission)
    return (
        select(Grading)
        .where(Grading.is_current)
        .options(
            of_submission.joinedload(Submission.user),
            of_submission.joinedload(Submission.drill),
            joinedload(Grading.version),
        )
    )


def _cases_so_far(session: Session, grading: Grading, *, staff: bool) -> list[CaseResult]:
    """Of the attempt that runs now; what an earlier one told no longer counts."""
    if grading.state == State.QUEUED.value:
        return []
    rows = session.scalars(
        select(CaseRow)
        .where(CaseRow.grading_id == grading.id, CaseRow.attempt == grading.attempt)
        .order_by(CaseRow.ordinal)
    )
    return [visible_case(CaseResult.model_validate(row.result), staff=staff) for row in rows]


def _staff_view(session: Session, grading: Grading) -> StaffView:
    every = select(Grading).where(Grading.submission_id == grading.submission_id).order_by(Grading.id)
    return StaffView(
        seed=grading.seed,
        worker_id=grading.worker_id,
        grading_attempt=grading.attempt,
        faults=grading.faults,
        gradings=list(session.scalars(every)),
    )
