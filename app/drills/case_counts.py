"""How many tests a drill version has: the web service cannot run its ``cases.py``, but a judge has told it before."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.store.models import DrillVersion, Grading, Submission, Validation
from graders.verdict import Verdict


def known_cases(session: Session, version: DrillVersion) -> int | None:
    """The number of a version's tests, from an earlier grading or its validation. None: nobody has told it yet."""
    graded = (
        select(Grading.report["expected_cases"].as_integer())
        .join(Submission, Grading.submission_id == Submission.id)
        .where(Submission.drill_id == version.drill_id, Grading.drill_version_id == version.id)
        .where(Grading.report.is_not(None), Grading.verdict != Verdict.JUDGE_ERROR.value)
        .order_by(Submission.id.desc())
    )
    validated = (
        select(func.json_array_length(Validation.report["cases"]))
        .where(Validation.drill_version_id == version.id, Validation.report.is_not(None))
        .order_by(Validation.id.desc())
    )
    return session.scalars(graded.limit(1)).first() or session.scalars(validated.limit(1)).first() or None
