"""The hostile corpus in the GPU lane: the verdicts, and for what is about the clock, that nothing was gained."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from graders.package import Package
from graders.report import Performance
from graders.verdict import Lane, Verdict
from tests.gpu.conftest import CORPUS, grade_with, running
from tests.hostile.corpus import Hostile, corpus
from tests.hostile.judged import BETWEEN_CHECKS, assert_gained_nothing, assert_withstood, honest_version, reduced
from worker.supervisor.supervisor import Supervisor

pytestmark = pytest.mark.gpu

HERE = [hostile for hostile in corpus() if hostile.runs_in(Lane.GPU)]
TESTED = [hostile for hostile in HERE if not hostile.clock]
TIMED = [hostile for hostile in HERE if hostile.clock]
RIGHT = (CORPUS / "accepted/one_row_per_program.py").read_text()
LIMITS = {"case_s": 3.0, "compile_s": 20.0, "grading_s": 60.0, "host_memory_mib": 2048}

STANDBY = {"tests": {"gpu": 6}, "speed": {"gpu": 1, "reference": 1}}
"""Many where only verdicts matter, since each grading uses one up or more. Where speed does, no more than a grading
takes: all that are to come are then warm before anything is timed, and the next ones come when it is over."""


@pytest.fixture(scope="module")
def here(request: pytest.FixtureRequest) -> Iterator[Supervisor]:
    """A supervisor of one kind at a time."""
    with running(STANDBY[request.param]) as supervisor:
        yield supervisor


@pytest.fixture(scope="module")
def few(package: Package) -> Package:
    return reduced(package)


@pytest.mark.parametrize("here", ["tests"], indirect=True)
@pytest.mark.parametrize("hostile", TESTED, ids=lambda item: item.name)
def test_the_judge_is_not_fooled(here: Supervisor, package: Package, few: Package, hostile: Hostile) -> None:
    used = package if hostile.needs_every_case else few
    report = grade_with(here, used, hostile.source, LIMITS | hostile.limits, measure=False)
    assert_withstood(hostile, Lane.GPU, report)
    if TESTED.index(hostile) % BETWEEN_CHECKS == BETWEEN_CHECKS - 1:
        assert grade_with(here, few, RIGHT, LIMITS, measure=False).verdict is Verdict.ACCEPTED


@pytest.mark.parametrize("here", ["tests"], indirect=True)
def test_a_right_kernel_is_accepted_after_all_that(here: Supervisor, package: Package) -> None:
    report = grade_with(here, package, RIGHT, LIMITS, measure=False)
    assert report.verdict is Verdict.ACCEPTED
    assert report.score == report.max_score - report.performance.max_points, "all but what speed would give"


@pytest.fixture(scope="module")
def honest_speed(few: Package) -> Callable[[Supervisor, str], Performance]:
    """The speed of a right kernel, measured once for each text."""
    known: dict[str, Performance] = {}

    def speed(supervisor: Supervisor, source: str) -> Performance:
        if source not in known:
            report = grade_with(supervisor, few, source, LIMITS, measure=True)
            assert report.verdict is Verdict.ACCEPTED, report
            known[source] = report.performance
        return known[source]

    return speed


@pytest.mark.parametrize("here", ["speed"], indirect=True)
@pytest.mark.parametrize("hostile", TIMED, ids=lambda item: item.name)
def test_the_clock_is_not_fooled(
    here: Supervisor, few: Package, honest_speed: Callable[[Supervisor, str], Performance], hostile: Hostile
) -> None:
    report = grade_with(here, few, hostile.source, LIMITS | hostile.limits, measure=True)
    assert_withstood(hostile, Lane.GPU, report)
    assert_gained_nothing(hostile, report.performance, honest_speed(here, honest_version(hostile)))
