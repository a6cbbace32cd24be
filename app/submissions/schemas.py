"""Submissions as REST shows them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.api.schemas import Answer, Order, Time
from app.store.models import Grading
from app.submissions.sentences import (
    AnnotationOut,
    CaseOut,
    CauseOut,
    DiagnosisOut,
    MessageOut,
    PerformanceOut,
    Sentences,
)
from app.submissions.views import StaffView, SubmissionView
from graders.catalogue import Catalogue
from graders.report import CategoryResult, Environment, KernelResources, Report
from graders.verdict import State, Verdict


class SubmissionOrder(Order):
    drill: str = Field(max_length=64, pattern=r"^[^\x00]*$", description="The drill's slug.")
    source: str = Field(description="The Python file, at most 64 KiB of UTF-8.")


class Links(Answer):
    """Paths on this server."""

    self: str
    events: str
    cancel: str

    @classmethod
    def of(cls, submission_id: str) -> Links:
        path = f"/api/v1/submissions/{submission_id}"
        return cls(self=path, events=f"{path}/events", cancel=f"{path}/cancel")


class SubmissionAccepted(Answer):
    id: str
    state: State
    queue_position: int | None = Field(description="Counts from 1; null when it is not queued (any more).")
    links: Links

    @classmethod
    def of(cls, view: SubmissionView) -> SubmissionAccepted:
        return cls(
            id=view.submission.id,
            state=view.state,
            queue_position=view.queue_position,
            links=Links.of(view.submission.id),
        )


class SubmissionSummary(Answer):
    id: str
    drill: str
    drill_version: int
    user: str
    attempt: int = Field(description="Counts the charged ones: one that is not charged gives its number to the next.")
    charged: bool = Field(
        description="Whether it counts. False: it ended through our fault, or was cancelled before a worker began."
    )
    state: State
    verdict: Verdict | None
    score: float | None
    max_score: float | None
    created_at: Time

    @classmethod
    def of(cls, grading: Grading) -> SubmissionSummary:
        return cls(**_summary(grading))


class SubmissionList(Answer):
    items: list[SubmissionSummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class TimelineOut(Answer):
    queued_at: Time | None
    claimed_at: Time | None
    started_at: Time | None
    finished_at: Time | None
    phases_ms: dict[str, float]
    measuring_ms: dict[str, float]


class HiddenCases(Answer):
    """How the hidden cases went, all that is told of them together."""

    passed: int
    judged: int


class GradingOut(Answer):
    id: str
    current: bool
    state: State
    verdict: Verdict | None
    score: float | None
    max_score: float | None
    queued_at: Time
    finished_at: Time | None


class StaffOut(Answer):
    seed: str
    worker_id: str | None
    grading_attempt: int
    faults: list[Any]
    gradings: list[GradingOut]

    @classmethod
    def of(cls, view: StaffView) -> StaffOut:
        gradings = [
            GradingOut(
                id=grading.id,
                current=grading.is_current,
                state=State(grading.state),
                verdict=Verdict(grading.verdict) if grading.verdict else None,
                score=grading.score,
                max_score=grading.max_score,
                queued_at=grading.queued_at,
                finished_at=grading.finished_at,
            )
            for grading in view.gradings
        ]
        return cls(
            seed=view.seed,
            worker_id=view.worker_id,
            grading_attempt=view.grading_attempt,
            faults=view.faults,
            gradings=gradings,
        )


class SubmissionOut(SubmissionSummary):
    """The report, as far as the reader may see it and as far as it is known: what is not known yet is null or empty.

    Beside each key stands its sentence in both languages: keys are stable, sentences are for people.
    """

    source_sha: str = Field(description="SHA-256, in hex, of the file as it is judged: less a byte order mark.")
    cancel_requested: bool
    queue_position: int | None
    last_event: int = Field(description="Number of the latest event: a stream may go on from there.")
    timeline: TimelineOut
    environment: Environment | None
    cause: CauseOut | None
    notices: list[MessageOut]
    annotations: list[AnnotationOut]
    expected_cases: int | None
    cases: list[CaseOut]
    categories: list[CategoryResult]
    hidden_cases: HiddenCases | None
    diagnoses: list[DiagnosisOut]
    kernels: list[KernelResources]
    output: str | None
    performance: PerformanceOut | None
    links: Links
    staff: StaffOut | None = Field(description="Null for students.")

    @classmethod
    def in_full(cls, view: SubmissionView, catalogue: Catalogue) -> SubmissionOut:
        """``catalogue`` is the drill version's."""
        say = Sentences(catalogue)
        return cls(
            **_summary(view.grading),
            **_report(view.report, say),
            source_sha=view.submission.source_sha,
            cancel_requested=view.submission.cancel_requested_at is not None,
            queue_position=view.queue_position,
            last_event=view.last_event,
            timeline=TimelineOut.model_validate(view.timeline),
            cases=[CaseOut.of(case, say) for case in view.cases],
            hidden_cases=HiddenCases(passed=view.hidden[0], judged=view.hidden[1]) if view.hidden else None,
            links=Links.of(view.submission.id),
            staff=StaffOut.of(view.staff) if view.staff else None,
        )


def _summary(grading: Grading) -> dict[str, Any]:
    submission = grading.submission
    return {
        "id": submission.id,
        "drill": submission.drill.slug,
        "drill_version": grading.version.number,
        "user": submission.user.name,
        "attempt": submission.attempt,
        "charged": submission.charged,
        "state": grading.state,
        "verdict": grading.verdict,
        "score": grading.score,
        "max_score": grading.max_score,
        "created_at": submission.created_at,
    }


_KNOWN_LATER = ("environment", "cause", "expected_cases", "output", "performance")
_LISTS = ("notices", "annotations", "categories", "diagnoses", "kernels")


def _report(report: Report | None, say: Sentences) -> dict[str, Any]:
    """The report's own fields; its cases come from the view, which knows them before there is a report."""
    if report is None:
        return {name: [] for name in _LISTS} | dict.fromkeys(_KNOWN_LATER)
    return {
        "environment": report.environment,
        "cause": CauseOut.of(report.cause, say),
        "notices": [MessageOut.told(notice, say) for notice in report.notices],
        "annotations": [AnnotationOut.told(annotation, say) for annotation in report.annotations],
        "expected_cases": report.expected_cases,
        "categories": report.categories,
        "diagnoses": [DiagnosisOut.of(diagnosis, say) for diagnosis in report.diagnoses],
        "kernels": report.kernels,
        "output": report.output,
        "performance": PerformanceOut.of(report.performance, say),
    }
