"""Puts a report together from what the grading found."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import torch
import triton

from graders.cases import Case
from graders.drill import Drill
from graders.hints import hinted
from graders.report import (
    Annotation,
    CaseResult,
    Cause,
    Diagnosis,
    Environment,
    KernelResources,
    Message,
    Performance,
    PerformanceStatus,
    Report,
    Severity,
    Timeline,
)
from graders.scoring import add_up, category_results, total
from graders.verdict import CaseStatus, Lane, State, Verdict, Visibility, foremost
from worker.job import UNSANDBOXED, Job
from worker.judge.case_run import Finding
from worker.judge.device import Device
from worker.judge.outcome import Stopped

_ERROR_VERDICTS = {Verdict.RUNTIME_ERROR, Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT, Verdict.OUTPUT_LIMIT}

_BARE = "annotation.exception"
"""A marker of the exception's type and the line, and nothing more."""


class ReportBuilder:
    """Collects results as they come; ``finished`` or ``stopped`` makes the report."""

    def __init__(self, job: Job, drill: Drill, device: Device, started_at: datetime) -> None:
        self._job, self._drill, self._device, self._started_at = job, drill, device, started_at
        self._phases: dict[str, float] = {}
        self.measuring_ms: dict[str, float] = {}
        self._annotations: list[Annotation] = []
        self.cases: list[CaseResult] = []
        self.kernels: list[KernelResources] = []
        self.output: str | None = None
        self.performance: Performance | None = None
        self.withheld = False
        """Whether the submission has met tests that are not public: students are told less of what ends it then."""

    @property
    def all_passed(self) -> bool:
        """Whether every case that was judged passed."""
        return all(case.status in (CaseStatus.PASSED, CaseStatus.SKIPPED) for case in self.cases)

    def in_order(self) -> None:
        """The results by ordinal, whatever order the cases were run in."""
        self.cases.sort(key=lambda case: case.ordinal)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a phase of the grading, or another part of it."""
        started = time.monotonic()
        try:
            yield
        finally:
            spent_ms = (time.monotonic() - started) * 1e3
            self._phases[name] = round(self._phases.get(name, 0.0) + spent_ms, 3)

    def waited(self, seconds: float) -> None:
        """How long of the phases so far the submission's own code took, its compiling included."""
        self._phases["submission"] = round(seconds * 1e3, 3)

    def case(self, ordinal: int, case: Case, finding: Finding, max_points: float) -> CaseResult:
        """The result of a case that was judged."""
        passed = finding.verdict is Verdict.ACCEPTED
        error = finding.not_run or finding.verdict in _ERROR_VERDICTS
        if finding.stopped is not None and (annotation := finding.stopped.annotation()) is not None:
            self._annotate(annotation, case)
        return CaseResult(
            ordinal=ordinal,
            name=case.name,
            category=case.category,
            visibility=self._drill.manifest.category(case.category).visibility,
            status=CaseStatus.PASSED if passed else CaseStatus.ERROR if error else CaseStatus.FAILED,
            verdict=finding.verdict,
            points=max_points if passed else 0,
            max_points=max_points,
            duration_ms=finding.duration_ms,
            cause=hinted(finding.cause, finding.mismatch),
            mismatch=finding.mismatch,
            stdout=finding.stdout,
        )

    def skipped(self, ordinal: int, case: Case, reason: Message) -> CaseResult:
        """The result of a case that this lane cannot judge."""
        return CaseResult(
            ordinal=ordinal,
            name=case.name,
            category=case.category,
            visibility=self._drill.manifest.category(case.category).visibility,
            status=CaseStatus.SKIPPED,
            verdict=None,
            points=0,
            max_points=0,
            cause=Cause(key=reason.key, params=reason.params),
        )

    def stopped(self, stopped: Stopped) -> Report:
        """The report of a submission that could not be tested, or not to the end."""
        annotation = stopped.annotation()
        if annotation is not None:
            self._mark(_type_and_line(annotation) if self.withheld else annotation)
        return self._report(stopped.verdict, cause=stopped, diagnoses=[], void=True)

    def failed_while_measured(self, stopped: Stopped) -> Report:
        """The report of a submission that passed every case and failed at a timed shape: its points stay."""
        return self._report(stopped.verdict, cause=stopped, diagnoses=[])

    def finished(self, diagnoses: list[Diagnosis]) -> Report:
        """The report when every case has its result."""
        named = {ordinal: item for item in reversed(diagnoses) for ordinal in item.cases}
        self.cases = [_diagnosed(case, named[case.ordinal]) if case.ordinal in named else case for case in self.cases]
        for item in diagnoses:
            for line in item.lines:
                key = "annotation.misconception"
                params = {"misconception": item.misconception}
                self._annotations.append(Annotation(key=key, params={**params}, line=line, severity=Severity.WARNING))
        verdict = foremost(case.verdict for case in self.cases if case.verdict is not None)
        return self._report(verdict, cause=None, diagnoses=diagnoses)

    def _annotate(self, annotation: Annotation, case: Case) -> None:
        """Whole for public cases, type and line for hinted ones, none for hidden ones."""
        visibility = self._drill.manifest.category(case.category).visibility
        if visibility is Visibility.HIDDEN:
            return
        self._mark(annotation if visibility is Visibility.PUBLIC else _type_and_line(annotation))

    def _mark(self, annotation: Annotation) -> None:
        """Keep a marker, unless there is one already that says the same of its line, or more."""
        bare = _type_and_line(annotation)
        alike = [known for known in self._annotations if _type_and_line(known) == bare]
        if not any(annotation.key in (known.key, _BARE) for known in alike):
            self._annotations.append(annotation)

    def _report(
        self, verdict: Verdict, cause: Stopped | None, diagnoses: list[Diagnosis], *, void: bool = False
    ) -> Report:
        categories = category_results(self._drill.manifest, self.cases)
        score, max_score = total(categories)
        if void:
            score, max_score = 0.0, self._reachable()
        if self.performance is not None:
            score = add_up([score, self.performance.points])
        if self._device.lane is Lane.GPU:
            max_score = add_up([max_score, self._drill.manifest.performance_points])
        finished_at = datetime.now(UTC)
        return Report(
            id=self._job.id,
            drill=self._job.slug,
            drill_version=self._job.version,
            attempt=self._job.attempt,
            state=State.DONE,
            verdict=verdict,
            score=score,
            max_score=max_score,
            environment=self._environment(),
            timeline=Timeline(
                queued_at=self._job.queued_at,
                claimed_at=self._job.claimed_at,
                started_at=self._started_at,
                finished_at=finished_at,
                phases_ms=self._phases,
                measuring_ms=self.measuring_ms,
            ),
            cause=hinted(cause.cause) if cause else None,
            withheld=self.withheld,
            notices=self._notices(verdict),
            annotations=self._annotations,
            expected_cases=len(self._drill.cases),
            cases=self.cases,
            categories=categories,
            diagnoses=diagnoses,
            kernels=self.kernels,
            output=self.output,
            performance=self.performance or self._not_measured(verdict),
        )

    def _reachable(self) -> float:
        """What a right submission would have had here: the points of every category that this lane can judge."""
        judged = {case.category for case in self._drill.cases if self._device.skip_reason(case) is None}
        return sum(category.points for category in self._drill.manifest.categories if category.name in judged)

    def _environment(self) -> Environment:
        return Environment(
            mode=self._job.lane.value,
            gpu=self._device.name,
            driver=self._device.driver,
            python=platform.python_version(),
            torch=torch.__version__,
            triton=triton.__version__,
            sandbox=self._job.sandbox,
            worker=self._job.worker,
        )

    def _notices(self, verdict: Verdict) -> list[Message]:
        notices = [] if self._job.lane is Lane.GPU else [Message(key="notice.interpreter")]
        points = self._drill.manifest.performance_points
        if verdict is Verdict.ACCEPTED and points and self._device.lane is not Lane.GPU:
            notices.append(Message(key="notice.pending_points", params={"points": points}))
        if self._job.sandbox == UNSANDBOXED:
            notices.append(Message(key="notice.unsandboxed"))
        return notices

    def _not_measured(self, verdict: Verdict) -> Performance:
        points, on_gpu = self._drill.manifest.performance_points, self._device.lane is Lane.GPU
        if verdict is Verdict.ACCEPTED and not on_gpu:
            reason = Message(key="performance.no_gpu")
            return Performance(status=PerformanceStatus.NOT_MEASURED, reason=reason, pending_points=points)
        key = "performance.not_accepted" if verdict is not Verdict.ACCEPTED else "performance.no_shapes"
        status = PerformanceStatus.NOT_REACHED
        return Performance(status=status, reason=Message(key=key), max_points=points if on_gpu else 0)


def _diagnosed(case: CaseResult, diagnosis: Diagnosis) -> CaseResult:
    """The case with the mistake that explains it, whose hint knows more than the pattern's."""
    cause = case.cause and case.cause.model_copy(update={"hint_key": diagnosis.hint_key})
    return case.model_copy(update={"misconception": diagnosis.misconception, "cause": cause})


def _type_and_line(annotation: Annotation) -> Annotation:
    """A marker without its text, which could carry what the submission has seen."""
    params = {name: value for name, value in annotation.params.items() if name in ("exception", "line")}
    return annotation.model_copy(update={"key": _BARE, "params": params})
