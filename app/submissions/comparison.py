"""A submission beside its author's one before it: what is better, what is worse, what was changed."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.line_diff import line_diff
from app.store.models import Grading, Submission
from app.submissions.views import SubmissionView
from graders.report import CaseResult, ShapeTiming
from graders.verdict import CaseStatus, State


@dataclass(frozen=True)
class SpeedChange:
    """A shape that both were measured at."""

    before: ShapeTiming
    after: ShapeTiming

    @property
    def speed_up(self) -> float:
        """How many times faster it became beside the reference, which both ran beside."""
        return self.after.ratio / self.before.ratio


@dataclass(frozen=True)
class Comparison:
    """``mended`` and ``broken`` are tests as they are now.

    ``same_tests`` is False where the drill has changed meanwhile: then its tests and shapes are not compared. ``diff``
    is None where the sources are too long to be compared.
    """

    before: SubmissionView
    after: SubmissionView
    same_tests: bool
    mended: list[CaseResult]
    broken: list[CaseResult]
    speeds: list[SpeedChange]
    diff: str | None


def earlier(session: Session, submission: Submission) -> Submission | None:
    """The author's last submission to the same drill before this one that was graded to its end.

    None also for one that is not charged: it says nothing of the code.
    """
    if not submission.charged:
        return None
    query = (
        select(Submission)
        .join(Grading, Grading.submission_id == Submission.id)
        .where(Grading.is_current, Grading.state == State.DONE.value, Submission.charged)
        .where(Submission.user_id == submission.user_id, Submission.drill_id == submission.drill_id)
        .where(Submission.id < submission.id)
        .order_by(Submission.id.desc())
        .limit(1)
    )
    return session.scalars(query).first()


def compare(before: SubmissionView, after: SubmissionView) -> Comparison:
    """Two submissions to the same drill, as their reader may see them."""
    same_tests = before.grading.version.id == after.grading.version.id
    old = {case.ordinal: case for case in before.cases} if same_tests else {}
    pairs = [(old[case.ordinal], case) for case in after.cases if case.ordinal in old]
    return Comparison(
        before=before,
        after=after,
        same_tests=same_tests,
        mended=[now for was, now in pairs if _fails(was) and now.status is CaseStatus.PASSED],
        broken=[now for was, now in pairs if was.status is CaseStatus.PASSED and _fails(now)],
        speeds=_speeds(before, after) if same_tests else [],
        diff=line_diff(
            before.submission.source,
            after.submission.source,
            f"#{before.submission.attempt}",
            f"#{after.submission.attempt}",
        ),
    )


def _fails(case: CaseResult) -> bool:
    return case.status in (CaseStatus.FAILED, CaseStatus.ERROR)


def _speeds(before: SubmissionView, after: SubmissionView) -> list[SpeedChange]:
    old = {timing.name: timing for timing in _timings(before)}
    return [SpeedChange(old[timing.name], timing) for timing in _timings(after) if timing.name in old]


def _timings(view: SubmissionView) -> list[ShapeTiming]:
    return view.report.performance.shapes if view.report else []
