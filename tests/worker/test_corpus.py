"""The corpus is the judge's functional test: every submission once, through supervisor, judge and sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from graders.corpus import Specimen, corpus
from graders.report import Report
from graders.verdict import CaseStatus, Lane, Verdict
from tests.worker.conftest import Grade

SPECIMENS = corpus(Path(__file__).parents[2] / "graders/t2_softmax/submissions")


def failed_categories(report: Report) -> set[str]:
    return {case.category for case in report.cases if case.status in (CaseStatus.FAILED, CaseStatus.ERROR)}


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda specimen: specimen.name)
def test_the_verdict_is_the_expected_one(grade: Grade, specimen: Specimen) -> None:
    expected = specimen.expectation
    report = grade(specimen.path.read_text("utf-8"))
    assert report.verdict in expected.verdicts_in(Lane.INTERPRETER), report.cause or failed_categories(report)
    if report.verdict is Verdict.ACCEPTED:
        assert report.score == report.max_score == 70
        assert report.performance.pending_points == 30
    if expected.fails is not None and report.cases:
        assert failed_categories(report) == expected.fails
    if expected.misconception is not None and report.cases:
        assert expected.misconception in [item.misconception for item in report.diagnoses]
    assert report.verdict is not Verdict.JUDGE_ERROR


def test_the_corpus_is_as_large_as_promised() -> None:
    accepted = [item for item in SPECIMENS if Verdict.ACCEPTED in item.expectation.verdicts]
    assert len(accepted) >= 12
    assert len(SPECIMENS) - len(accepted) >= 25
