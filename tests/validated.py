"""Validation reports, and a worker that plays a validation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from app.queue.wakeup import Wakeups
from app.store.engine import Store
from app.validations import service as validations
from app.validations.service import Claim
from graders.validation import CaseOutcome, Finding, LaneCost, SubmissionOutcome, ValidationReport
from graders.verdict import Lane, Verdict

NOW = datetime(2026, 1, 1, tzinfo=UTC)

SUBMISSIONS = [
    SubmissionOutcome(
        name="reference/copy", expected=[Verdict.ACCEPTED], got=Verdict.ACCEPTED, passed_some=True, duration_ms=812.5
    ),
    SubmissionOutcome(
        name="wrong_answer/zeros",
        expected=[Verdict.WRONG_ANSWER],
        got=Verdict.WRONG_ANSWER,
        expected_categories=["basic"],
        failed_categories=["basic"],
        failed_cases=["basic/one"],
        passed_some=True,
    ),
]
CASES = [
    CaseOutcome(
        name="one",
        category="basic",
        points=20,
        judged=True,
        caught_by=["wrong_answer/zeros"],
        reference_ms=1.25,
    ),
    CaseOutcome(name="huge", category="edges", points=40, judged=False),
]


def validation_report(*findings: Finding, **changes: Any) -> ValidationReport:
    values: dict[str, Any] = {
        "slug": "copy",
        "digest": "d",
        "lane": Lane.INTERPRETER,
        "complete": True,
        "findings": list(findings),
        "submissions": SUBMISSIONS,
        "cases": CASES,
        "costs": [
            LaneCost(
                lane=Lane.INTERPRETER,
                slowest_case="basic/one",
                slowest_case_ms=1.25,
                slowest_submission="reference/copy",
                limit_ms=15000,
                memory_mib=0.5,
            )
        ],
        "started_at": NOW,
        "finished_at": NOW,
    }
    return ValidationReport(**(values | changes))


class PlayedValidation:
    """One attempt at the newest validation of a version. Without ``wakeups`` those who follow it poll."""

    def __init__(self, store: Store, version_id: str, wakeups: Wakeups | None = None) -> None:
        self._store, self._wakeups = store, wakeups
        with store.transaction() as session:
            newest = validations.newest(session, version_id)
            assert newest is not None
            claim = validations.claim(session, newest.id, worker_id="played", lease_s=600)
        assert claim is not None
        self._claim: Claim = claim
        self._wake()

    def stage(self, name: str) -> None:
        with self._store.transaction() as session:
            validations.tell_stage(session, self._claim, name)
        self._wake()

    def graded(self, name: str, verdict: str, done: int, total: int) -> None:
        with self._store.transaction() as session:
            validations.tell_submission(session, self._claim, name, verdict, done=done, total=total)
        self._wake()

    def finish(self, report: ValidationReport) -> None:
        with self._store.transaction() as session:
            assert validations.finish(session, self._claim, report)
        self._wake()

    def give_back(self, *, max_attempts: int) -> None:
        """Fail through no fault of the drill."""
        with self._store.transaction() as session:
            validations.give_back(session, self._claim, "the <judge> died", max_attempts=max_attempts)
        self._wake()

    def _wake(self) -> None:
        if self._wakeups is not None:
            self._wakeups.publish(self._claim.version_id)
