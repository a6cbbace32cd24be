"""How many tests a drill version has: the web service cannot run its ``cases.py``, but a judge has told it before.

Reports are read as documents, not by the database's operators: PostgreSQL refuses to look into JSON that holds a
``\\u0000`` anywhere, and a report may quote what a submission said.
"""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.store.models import DrillVersion, Grading, Submission, Validation
from graders.verdict import Verdict


def known_cases(session: Session, version: DrillVersion) -> int | None:
    """The number of a version's tests, from an earlier grading or its validation. None: nobody has told it yet."""
    graded = (
        select(Grading.report)
        .join(Submission, Grading.submission_id == Submission.id)
        .where(Submission.drill_id == version.drill_id, Grading.drill_version_id == version.id)
        .where(Grading.report.is_not(None), Grading.verdict != Verdict.JUDGE_ERROR.value)
        .order_by(Submission.id.desc())
    )
    report = session.scalars(graded.limit(1)).first()
    if report is not None and report["expected_cases"]:
        return int(report["expected_cases"])
    validated = (
        select(Validation.report)
        .where(Validation.drill_version_id == version.id, Validation.report.is_not(None))
        .order_by(Validation.id.desc())
    )
    validation = session.scalars(validated.limit(1)).first()
    return len(validation["cases"]) or None if validation is not None else None
