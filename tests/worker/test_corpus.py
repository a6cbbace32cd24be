"""The corpora are the judge's functional test: every submission once, through supervisor, judge and sandbox."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from graders.corpus import Specimen, corpus
from graders.package import Package
from graders.report import Report
from graders.verdict import CaseStatus, Lane, Verdict
from tests.worker.conftest import Quiet, make_job
from worker.supervisor.supervisor import Supervisor

ROOT = Path(__file__).parents[2]
PROMISED = {"t2_softmax": (12, 25), "t2_online_softmax": (6, 12)}
"""How many submissions at least are to be accepted, and how many are not."""

SPECIMENS = {slug: corpus(ROOT / "graders" / slug / "submissions") for slug in PROMISED}
EVERY_ONE = [
    pytest.param(slug, specimen, id=f"{slug}/{specimen.name}")
    for slug, specimens in SPECIMENS.items()
    for specimen in specimens
]


@dataclass
class Corpora:
    """Grades each submission once, and keeps the reports."""

    supervisor: Supervisor
    packages: dict[str, Package] = field(default_factory=lambda: {slug: Package.from_tree(slug) for slug in PROMISED})
    reports: dict[tuple[str, str], Report] = field(default_factory=dict)

    def report(self, slug: str, specimen: Specimen) -> Report:
        key, package = (slug, specimen.name), self.packages[slug]
        if key not in self.reports:
            job = make_job(specimen.path.read_text("utf-8"), package)
            self.reports[key] = self.supervisor.grade(job, package.to_zip(), Quiet())
        return self.reports[key]


@pytest.fixture(scope="module")
def corpora(supervisor: Supervisor) -> Corpora:
    return Corpora(supervisor)


def failed_categories(report: Report) -> set[str]:
    return {case.category for case in report.cases if case.status in (CaseStatus.FAILED, CaseStatus.ERROR)}


@pytest.mark.parametrize(("slug", "specimen"), EVERY_ONE)
def test_the_verdict_is_the_expected_one(corpora: Corpora, slug: str, specimen: Specimen) -> None:
    expected = specimen.expectation
    report = corpora.report(slug, specimen)
    assert report.verdict in expected.verdicts_in(Lane.INTERPRETER), report.cause or failed_categories(report)
    if report.verdict is Verdict.ACCEPTED:
        assert report.score == report.max_score == 70
        assert report.performance.pending_points == 30
    if expected.fails is not None and report.cases:
        assert failed_categories(report) == expected.fails
    if expected.misconception is not None and report.cases:
        assert expected.misconception in [item.misconception for item in report.diagnoses]
    assert report.verdict is not Verdict.JUDGE_ERROR


@pytest.mark.parametrize("slug", SPECIMENS)
def test_every_case_is_failed_by_a_wrong_answer(corpora: Corpora, slug: str) -> None:
    wrong = [item for item in SPECIMENS[slug] if item.path.parent.name == "wrong_answer"]
    cases = [case for specimen in wrong for case in corpora.report(slug, specimen).cases]
    judged = {case.name for case in cases if case.status is not CaseStatus.SKIPPED}
    assert judged
    assert judged == {case.name for case in cases if case.status is CaseStatus.FAILED}


@pytest.mark.parametrize("slug", SPECIMENS)
def test_the_corpus_is_as_large_as_promised(slug: str) -> None:
    accepted = [item for item in SPECIMENS[slug] if Verdict.ACCEPTED in item.expectation.verdicts]
    least_accepted, least_others = PROMISED[slug]
    assert len(accepted) >= least_accepted
    assert len(SPECIMENS[slug]) - len(accepted) >= least_others
