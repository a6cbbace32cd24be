"""From a drill's package to the report on it, in stages: its form, its code, its submissions."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from graders.catalogue import flatten
from graders.catches import (
    Graded,
    case_outcomes,
    catching_findings,
    cost_findings,
    lane_cost,
    outcome,
    reference_example,
    reference_findings,
    reference_timings,
    submission_findings,
)
from graders.form import check_form, examples_of
from graders.limits import Limits
from graders.package import Package
from graders.validation import Finding, FindingCode, Severity, ValidationReport
from worker.job import SelfTested
from worker.supervisor.lane import Post
from worker.supervisor.supervisor import Cancelled
from worker.validation.gradings import GradingPool, threads_for
from worker.validation.rehearsing import LIMIT_S, rehearse


class Watcher(Protocol):
    """Hears how a validation goes; possibly in other threads, one call at a time."""

    def stage(self, name: str) -> None:
        """``form``, ``code`` or ``submissions`` begins."""
        ...

    def graded(self, name: str, verdict: str, done: int, total: int) -> None:
        """The submission ``name`` is through, ``done`` of ``total``; an empty verdict is the judge's own failure."""
        ...

    def cancelled(self) -> bool:
        """Whether to stop; asked several times a second."""
        ...


class Validation:
    """One validation. ``maximum`` is the most that the operator lets a drill ask for."""

    def __init__(
        self,
        package: Package,
        post: Post,
        watcher: Watcher,
        maximum: Limits | None = None,
        load_limit_s: float = LIMIT_S,
    ) -> None:
        self._package, self._post, self._watcher, self._maximum = package, post, watcher, maximum
        self._load_limit_s = load_limit_s
        self._started_at = datetime.now(UTC)
        self._findings: list[Finding] = []

    def run(self) -> ValidationReport:
        """Validate. Raises Cancelled, or JudgeFailed when this machine cannot judge."""
        self._watcher.stage("form")
        self._findings += check_form(self._package)
        if self._erroneous():
            return self._report(complete=False)
        self._watcher.stage("code")
        tested = rehearse(self._package, self._post, self._require_wanted, self._load_limit_s)
        self._findings += tested.findings
        if any(finding.code in _UNLOADED for finding in tested.findings):
            return self._report(complete=False)
        self._watcher.stage("submissions")
        return self._run_submissions(tested)

    def _run_submissions(self, tested: SelfTested) -> ValidationReport:
        package, lane = self._package, self._post.lane
        limits = package.manifest.limits_for(lane, self._maximum)
        source = package.files[f"reference/{package.slug}.py"].decode("utf-8")
        examples = [reference_example(package.slug, source), *examples_of(package)]
        heard = _Heard(self._watcher, len(examples))
        pool = GradingPool(package, self._post, self._maximum, secrets.token_hex(16), heard, self._watcher.cancelled)
        reference, *submissions = pool.run(examples, threads_for(lane))
        outcomes = [outcome(graded, lane) for graded in (reference, *submissions)]
        cases = case_outcomes(reference, submissions, lane)
        cost = lane_cost((reference, *submissions), lane, limits.case_s * 1e3, tested.memory_mib)
        self._findings += reference_findings(reference, lane)
        for graded in submissions:
            self._findings += submission_findings(graded, lane)
        self._findings += catching_findings(cases, outcomes, _misconceptions(package))
        self._findings += cost_findings(cost)
        report = self._report(complete=True)
        timings = reference_timings(reference)
        return report.model_copy(
            update={"submissions": outcomes, "cases": cases, "costs": [cost] if cost else [], "reference": timings}
        )

    def _require_wanted(self) -> None:
        if self._watcher.cancelled():
            raise Cancelled

    def _erroneous(self) -> bool:
        return any(finding.severity is Severity.ERROR for finding in self._findings)

    def _report(self, *, complete: bool) -> ValidationReport:
        return ValidationReport(
            slug=self._package.slug,
            digest=self._package.digest,
            lane=self._post.lane,
            complete=complete,
            findings=self._findings,
            started_at=self._started_at,
            finished_at=datetime.now(UTC),
        )


_UNLOADED = frozenset(
    {
        FindingCode.PYTHON_SYNTAX,
        FindingCode.LOAD_EXCEPTION,
        FindingCode.LOAD_UNUSABLE,
        FindingCode.LOAD_TIME_LIMIT,
        FindingCode.LOAD_MEMORY_LIMIT,
        FindingCode.LOAD_CRASHED,
        FindingCode.CASE_EXCEPTION,
        FindingCode.CASE_CALL,
        FindingCode.ORACLE_EXCEPTION,
        FindingCode.ORACLE_OUTPUT,
    }
)
"""With these every grading would fail alike: the submissions are not run."""


class _Heard:
    """Counts for the watcher what is through: a submission that is graded once more counts once."""

    def __init__(self, watcher: Watcher, total: int) -> None:
        self._watcher, self._total = watcher, total
        self._names: set[str] = set()

    def __call__(self, graded: Graded) -> None:
        self._names.add(graded.example.name)
        verdict = graded.report.verdict if graded.report else ""
        self._watcher.graded(graded.example.name, verdict, len(self._names), self._total)


def _misconceptions(package: Package) -> Sequence[str]:
    """The misconceptions that the drill has sentences of."""
    keys = flatten(package.sentences("en"))
    return sorted({key.split(".")[1] for key in keys if key.startswith("misconception.")})
