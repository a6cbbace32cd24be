"""The whole corpora with their expected verdicts, bfloat16 and the huge cases for real."""

from __future__ import annotations

import pytest

from graders.corpus import Specimen, corpus
from graders.package import Package, built_in_drills
from graders.verdict import CaseStatus, Lane, Verdict
from tests.gpu.conftest import GRADERS, grade_with
from worker.supervisor.supervisor import Supervisor

pytestmark = pytest.mark.gpu

SLUGS = built_in_drills()
EVERY_ONE = [
    pytest.param(slug, specimen, id=f"{slug}/{specimen.name}")
    for slug in SLUGS
    for specimen in corpus(GRADERS / slug / "submissions")
]


@pytest.fixture(scope="module")
def packages() -> dict[str, Package]:
    return {slug: Package.from_tree(slug) for slug in SLUGS}


@pytest.mark.parametrize(("slug", "specimen"), EVERY_ONE)
def test_the_verdict_is_the_expected_one(
    supervisor: Supervisor, packages: dict[str, Package], slug: str, specimen: Specimen
) -> None:
    report = grade_with(supervisor, packages[slug], specimen.path.read_text("utf-8"), {}, measure=False)
    failed = [(case.name, case.cause) for case in report.cases if case.status in (CaseStatus.FAILED, CaseStatus.ERROR)]
    assert report.verdict in specimen.expectation.verdicts_in(Lane.GPU), report.cause or failed[:3]
    if report.verdict is Verdict.ACCEPTED:
        assert report.score == 70
        assert report.kernels
        assert all(kernel.registers for kernel in report.kernels)
