"""What the tests of a drill catch, from the reports on its reference and its submissions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graders.corpus import Example, Expectation
from graders.report import CaseResult, Message, PerformanceStatus, Report
from graders.validation import (
    CaseOutcome,
    Finding,
    FindingCode,
    LaneCost,
    ReferenceTiming,
    SubmissionOutcome,
)
from graders.verdict import CaseStatus, Lane, Verdict

UNSTEADY = 0.05
"""The relative spread from which on a reference's time is called unsteady."""

SLOW = 0.5
"""The share of the limit from which on a right kernel's case is called slow."""

_LISTED = 6
"""Names in a sentence; what is more is counted."""


@dataclass(frozen=True)
class Graded:
    """An example and its report, or why the judge has none. The reference is an example that expects acceptance."""

    example: Example
    report: Report | None
    failure: Finding | None = None

    @property
    def cases(self) -> list[CaseResult]:
        return self.report.cases if self.report else []

    @property
    def failed(self) -> list[CaseResult]:
        """The cases that it failed itself: not those left out because it had crashed too often."""
        return [case for case in self.cases if case.status in _BAD and not _not_run(case)]

    @property
    def passed_some(self) -> bool:
        return any(case.status is CaseStatus.PASSED for case in self.cases)


_BAD = (CaseStatus.FAILED, CaseStatus.ERROR)


def reference_example(slug: str, source: str) -> Example:
    """The reference, judged as a submission is."""
    accepted = frozenset({Verdict.ACCEPTED})
    return Example(f"reference/{slug}", f"reference/{slug}.py", source, Expectation(accepted, accepted))


def outcome(graded: Graded, lane: Lane) -> SubmissionOutcome:
    """What was expected of an example in this lane, and what came."""
    expected, report = graded.example.expectation, graded.report
    names_categories = lane is Lane.INTERPRETER and expected.fails is not None and bool(graded.cases)
    return SubmissionOutcome(
        name=graded.example.name,
        expected=sorted(expected.verdicts_in(lane)),
        got=report.verdict if report else None,
        expected_categories=sorted(expected.fails or ()) if names_categories else None,
        failed_categories=sorted({case.category for case in graded.cases if case.status in _BAD}),
        failed_cases=[_name(case) for case in graded.failed],
        passed_some=graded.passed_some,
        expected_misconception=expected.misconception if graded.cases and _wrong(graded, lane) else None,
        misconceptions=[item.misconception for item in report.diagnoses] if report else [],
        duration_ms=_duration_ms(report) if report else None,
    )


def case_outcomes(reference: Graded, submissions: Sequence[Graded], lane: Lane) -> list[CaseOutcome]:
    """Every test with what it catches; from the reference's report, or another's when that was not run."""
    fullest = max([reference, *submissions], key=lambda graded: len(graded.cases))
    times = {_name(case): case.duration_ms for case in reference.cases}
    caught: dict[str, list[str]] = {}
    for graded in submissions:
        if _wrong(graded, lane) and graded.passed_some:
            for case in graded.failed:
                caught.setdefault(_name(case), []).append(graded.example.name)
    return [
        CaseOutcome(
            name=case.name,
            category=case.category,
            points=case.max_points,
            judged=case.status is not CaseStatus.SKIPPED,
            caught_by=caught.get(_name(case), []),
            reference_ms=times.get(_name(case)),
        )
        for case in fullest.cases
    ]


def lane_cost(
    graded: Iterable[Graded], lane: Lane, limit_ms: float, memory_mib: Mapping[str, float]
) -> LaneCost | None:
    """The slowest case of what is accepted, or None when nothing is."""
    slowest: tuple[float, str, str] | None = None
    for item in graded:
        if item.report is None or item.report.verdict is not Verdict.ACCEPTED:
            continue
        for case in item.cases:
            found = (case.duration_ms or 0.0, _name(case), item.example.name)
            slowest = found if slowest is None else max(slowest, found)
    if slowest is None:
        return None
    return LaneCost(
        lane=lane,
        slowest_case=slowest[1],
        slowest_case_ms=slowest[0],
        slowest_submission=slowest[2],
        limit_ms=limit_ms,
        memory_mib=memory_mib.get(slowest[1]),
    )


def reference_timings(reference: Graded) -> list[ReferenceTiming]:
    """What submissions are timed against, at each timed shape; empty where nothing was measured."""
    shapes = reference.report.performance.shapes if reference.report else []
    return [
        ReferenceTiming(
            shape=shape.name,
            time_us=shape.reference_us,
            spread=shape.spread if shape.reference_spread is None else shape.reference_spread,
            fraction_of_copy=shape.fraction_of_copy * shape.time_us / shape.reference_us,
        )
        for shape in shapes
    ]


def reference_findings(reference: Graded, lane: Lane) -> Iterator[Finding]:
    """The reference has to pass every test, and its time, where it is taken, to be steady."""
    file = reference.example.file
    if reference.failure is not None:
        yield reference.failure
    if reference.report is None:
        return
    for case in reference.failed[:_LISTED]:
        verdict = str(case.verdict)
        yield Finding.of(
            FindingCode.REFERENCE_FAILS, file=file, case=_name(case), category=case.category, verdict=verdict
        )
    if not reference.failed and reference.report.verdict is not Verdict.ACCEPTED:
        verdict = str(reference.report.verdict)
        yield Finding.of(FindingCode.REFERENCE_REFUSED, file=file, cause=_cause(reference), verdict=verdict)
    performance = reference.report.performance
    wanted = lane is Lane.GPU and performance.max_points > 0 and reference.report.verdict is Verdict.ACCEPTED
    if wanted and performance.status is not PerformanceStatus.MEASURED:
        yield Finding.of(FindingCode.REFERENCE_NOT_MEASURED, file=file, cause=performance.reason)
    for shape in reference_timings(reference):
        if shape.spread > UNSTEADY:
            percent = round(100 * shape.spread, 1)
            yield Finding.of(FindingCode.REFERENCE_UNSTEADY, file=file, shape=shape.shape, spread_percent=percent)


def submission_findings(graded: Graded, lane: Lane) -> Iterator[Finding]:
    """What is unexpected about one submission: its verdict, else its categories and its diagnosis."""
    found, file, name = outcome(graded, lane), graded.example.file, graded.example.name
    if graded.failure is not None:
        yield graded.failure
    if found.got is None:
        return
    if found.got not in found.expected:
        yield _unexpected_verdict(graded, found)
        return
    if found.expected_categories is not None and found.expected_categories != found.failed_categories:
        got, expected = _listed(found.failed_categories), _listed(found.expected_categories)
        yield Finding.of(FindingCode.UNEXPECTED_CATEGORIES, file=file, submission=name, got=got, expected=expected)
    wanted = found.expected_misconception
    if wanted is not None and wanted not in found.misconceptions:
        code, got = FindingCode.MISCONCEPTION_NOT_NAMED, _listed(found.misconceptions)
        yield Finding.of(code, file=file, submission=name, misconception=wanted, got=got)


def _unexpected_verdict(graded: Graded, found: SubmissionOutcome) -> Finding:
    file, name, expected = graded.example.file, graded.example.name, "|".join(found.expected)
    if found.got is Verdict.ACCEPTED:
        claims = _listed(sorted(graded.example.expectation.fails or ()))
        return Finding.of(FindingCode.NOT_CAUGHT, file=file, submission=name, expected=expected, claims=claims)
    code, got = FindingCode.UNEXPECTED_VERDICT, str(found.got)
    return Finding.of(code, file=file, submission=name, cause=_cause(graded), got=got, expected=expected)


def catching_findings(
    cases: Sequence[CaseOutcome], outcomes: Sequence[SubmissionOutcome], misconceptions: Iterable[str]
) -> Iterator[Finding]:
    """Categories and tests that catch nothing, submissions and misconceptions that hang by a thread."""
    skipped = [f"{case.category}/{case.name}" for case in cases if not case.judged]
    if skipped:
        yield Finding.of(FindingCode.CASES_NOT_JUDGED, count=len(skipped), cases=_listed(skipped))
    judged = [case for case in cases if case.judged]
    for category in dict.fromkeys(case.category for case in judged):
        idle = [case for case in judged if case.category == category and not case.caught_by]
        if all(not case.caught_by for case in judged if case.category == category):
            yield Finding.of(FindingCode.CATEGORY_CATCHES_NOTHING, category=category)
            continue
        for case in idle:
            yield Finding.of(FindingCode.CASE_CATCHES_NOTHING, case=f"{category}/{case.name}", category=category)
    catching: dict[str, list[str]] = {}
    for case in judged:
        for name in case.caught_by:
            catching.setdefault(name, []).append(f"{case.category}/{case.name}")
    for name, by in catching.items():
        if len(by) == 1:
            yield Finding.of(FindingCode.CAUGHT_BY_ONE_CASE, submission=name, case=by[0])
    named = {name for found in outcomes for name in found.misconceptions}
    for name in misconceptions:
        if name not in named:
            yield Finding.of(FindingCode.MISCONCEPTION_NEVER_NAMED, misconception=name)


def cost_findings(cost: LaneCost | None) -> Iterator[Finding]:
    """A right kernel that comes near to the limit here does not keep it on a slower machine."""
    if cost is not None and cost.slowest_case_ms > SLOW * cost.limit_ms:
        yield Finding.of(
            FindingCode.CASE_SLOW,
            submission=cost.slowest_submission,
            case=cost.slowest_case,
            duration_ms=round(cost.slowest_case_ms),
            limit_ms=round(cost.limit_ms),
        )


def _wrong(graded: Graded, lane: Lane) -> bool:
    return Verdict.ACCEPTED not in graded.example.expectation.verdicts_in(lane)


def _name(case: CaseResult) -> str:
    return f"{case.category}/{case.name}"


def _not_run(case: CaseResult) -> bool:
    return case.cause is not None and case.cause.key == "case.not_run"


def _cause(graded: Graded) -> Message | None:
    """Why a report has its verdict: its own reason, or that of the first case with the verdict."""
    if graded.report is None:
        return None
    causes = [graded.report.cause, *(case.cause for case in graded.failed if case.verdict is graded.report.verdict)]
    cause = next((cause for cause in causes if cause is not None), None)
    return Message(key=cause.key, params=cause.params) if cause else None


def _duration_ms(report: Report) -> float | None:
    started, finished = report.timeline.started_at, report.timeline.finished_at
    return (finished - started).total_seconds() * 1e3 if started and finished else None


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many follow; a dash for none."""
    more = f" (+{len(names) - _LISTED})" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more if names else "–"
