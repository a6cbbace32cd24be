"""What a submission can do on a worker with a GPU: the right verdict, the results so far, nothing left, and the next
grading is right."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

import pytest

from graders.package import Package
from graders.report import Report
from graders.verdict import Lane, Verdict
from tests.faults import RIGHT, Fault, faults_of
from tests.gpu.conftest import Silent
from tests.packages import AROUND_A_FAULT, BASIC, reduced
from tests.processes import named, wait_until
from worker.job import Job
from worker.sandbox.tiers import TIER_A
from worker.supervisor.supervisor import Supervisor

pytestmark = pytest.mark.gpu

DEATH_S = 2.0
"""How long what a submission started may live after its grading."""

STANDBY = 6
"""Each grading with a fault takes two runners, and a runner needs seconds to warm up."""

GRADINGS = 30

GradeIn = Callable[..., Report]


@pytest.fixture(scope="module")
def crowd() -> Iterator[Supervisor]:
    """A supervisor with many runners on standby."""
    supervisor = Supervisor(Lane.GPU, {"gpu": STANDBY}, sandbox=TIER_A)
    supervisor.warm_up()
    yield supervisor
    supervisor.close()


@pytest.fixture
def grade_in(crowd: Supervisor) -> GradeIn:
    """``grade_in(package, source, **limits)`` with the drill's own limits but for those given, unmeasured."""

    def run(package: Package, source: str, **limits: object) -> Report:
        job = Job(
            id="gpu",
            slug=package.slug,
            version=1,
            digest=package.digest,
            attempt=1,
            source=source,
            seed=secrets.token_hex(16),
            lane=Lane.GPU,
            limits=package.manifest.limits_for(Lane.GPU).model_copy(update=limits),
            sandbox="A",
            measure=False,
        )
        return crowd.grade(job, package.to_zip(), Silent())

    return run


@pytest.mark.parametrize("fault", faults_of(Lane.GPU), ids=lambda fault: fault.name)
def test_a_fault_costs_its_case_and_the_next_grading_is_right(
    grade_in: GradeIn, package: Package, fault: Fault
) -> None:
    mark = f"wg-{fault.name}"[:15]
    report = grade_in(reduced(package, **AROUND_A_FAULT), fault.source(mark), **fault.limits)
    wait_until(lambda: named(mark) == [], "all that it started is dead", DEATH_S)
    fault.check(report)
    assert grade_in(reduced(package, **BASIC), RIGHT).verdict is Verdict.ACCEPTED


def test_thirty_right_kernels_after_all_that_are_accepted(grade_in: GradeIn, package: Package) -> None:
    basic = reduced(package, **BASIC)
    verdicts = [grade_in(basic, RIGHT).verdict for _ in range(GRADINGS)]
    assert verdicts == [Verdict.ACCEPTED] * GRADINGS
