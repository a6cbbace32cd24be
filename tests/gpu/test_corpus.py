"""The whole corpus with its expected verdicts, bfloat16 and the huge cases for real."""

from __future__ import annotations

import pytest

from graders.corpus import Specimen, corpus
from graders.verdict import CaseStatus, Lane, Verdict
from tests.gpu.conftest import CORPUS, Grade

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("specimen", corpus(CORPUS), ids=lambda specimen: specimen.name)
def test_the_verdict_is_the_expected_one(grade: Grade, specimen: Specimen) -> None:
    report = grade(specimen.path.read_text("utf-8"))
    failed = [(case.name, case.cause) for case in report.cases if case.status in (CaseStatus.FAILED, CaseStatus.ERROR)]
    assert report.verdict in specimen.expectation.verdicts_in(Lane.GPU), report.cause or failed[:3]
    if report.verdict is Verdict.ACCEPTED:
        assert report.score == 70
        assert report.kernels
        assert all(kernel.registers for kernel in report.kernels)
