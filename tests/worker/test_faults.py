"""What a submission can do to its own process: each ends in a verdict that helps, with the results so far kept,
all of it dead, and the next grading right."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graders.package import Package
from graders.report import Report
from graders.verdict import CaseStatus, Lane, Verdict
from tests.faults import RIGHT, Fault, faults_of
from tests.packages import AROUND_A_FAULT, reduced
from tests.processes import named, wait_until
from tests.worker.conftest import Grade, Quiet, make_job, warm_supervisor
from worker.supervisor.supervisor import Supervisor

DEATH_S = 10.0
"""How long what a submission started may take to die: a hundred processes of a fork bomb share two cores for it."""

ONE_CASE_A_CATEGORY = b"""
_first = {}
for _case in CASES:
    _first.setdefault(_case.category, _case)
CASES = tuple(_first.values())
"""


@pytest.fixture(scope="module")
def small_package(package: Package) -> Package:
    """The drill with one case a category."""
    cases = "graders/t2_softmax/cases.py"
    return Package(package.slug, package.files | {cases: package.files[cases] + ONE_CASE_A_CATEGORY})


@pytest.fixture(scope="module")
def struck_package(package: Package) -> Package:
    return reduced(package, **AROUND_A_FAULT)


@pytest.fixture
def grade(supervisor: Supervisor, small_package: Package) -> Grade:
    def run(source: str, **limits: object) -> Report:
        return supervisor.grade(make_job(source, small_package, **limits), small_package.to_zip(), Quiet())

    return run


@pytest.fixture(scope="module")
def struck_supervisor(request: pytest.FixtureRequest) -> Iterator[Supervisor]:
    """Its interpreters are started as ever; where kernels are only compiled a fault does nothing, so that is forked."""
    with warm_supervisor(request.config.getoption("tier"), interpreters=2, forked=("compiler",)) as supervisor:
        yield supervisor


@pytest.mark.parametrize("fault", faults_of(Lane.INTERPRETER), ids=lambda fault: fault.name)
def test_a_fault_costs_its_case_and_no_other(
    struck_supervisor: Supervisor, struck_package: Package, fault: Fault
) -> None:
    mark = f"wg-{fault.name}"[:15]
    job = make_job(fault.source(mark), struck_package, **fault.limits)
    report = struck_supervisor.grade(job, struck_package.to_zip(), Quiet())
    wait_until(lambda: named(mark) == [], "all that it started is dead", DEATH_S)
    fault.check(report)


def test_after_all_that_a_right_kernel_is_accepted(struck_supervisor: Supervisor, small_package: Package) -> None:
    report = struck_supervisor.grade(make_job(RIGHT, small_package), small_package.to_zip(), Quiet())
    assert report.verdict is Verdict.ACCEPTED


def test_a_submission_that_always_crashes_is_run_four_times_in_all(grade: Grade) -> None:
    report = grade("import os\ndef softmax(x, out):\n    os._exit(1)\n")
    judged = [case for case in report.cases if case.status is not CaseStatus.SKIPPED]
    keys = [case.cause.key for case in judged if case.cause]
    assert keys[:4] == ["case.exited"] * 4
    assert set(keys[4:]) == {"case.not_run"}
    assert report.verdict is Verdict.RUNTIME_ERROR
    assert report.score == 0


def test_a_submission_that_always_hangs_is_not_waited_for_again_and_again(grade: Grade) -> None:
    report = grade("def softmax(x, out):\n    while True:\n        pass\n", case_s=1.0)
    judged = [case for case in report.cases if case.status is not CaseStatus.SKIPPED]
    keys = [case.cause.key for case in judged if case.cause]
    assert keys[:3] == ["case.time_limit"] * 3
    assert set(keys[3:]) == {"case.not_run"}
    assert report.verdict is Verdict.TIME_LIMIT


@pytest.mark.parametrize(
    ("source", "verdict", "key"),
    [
        ("def softmax(x, out:\n", Verdict.COMPILE_ERROR, "compile.syntax"),
        ("x = 1\n", Verdict.COMPILE_ERROR, "compile.missing_entry"),
        ("softmax = 3\n", Verdict.COMPILE_ERROR, "compile.not_callable"),
        ("def softmax(x):\n    return x\n", Verdict.COMPILE_ERROR, "compile.signature"),
        ("import nothing_of_this_name\n", Verdict.RUNTIME_ERROR, "case.exception"),
        ("import os\nos._exit(0)\n", Verdict.RUNTIME_ERROR, "case.exited"),
        ("import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n", Verdict.TIME_LIMIT, None),
        ("raise SystemExit(0)\n", Verdict.RUNTIME_ERROR, "case.exception"),
    ],
)
def test_what_fails_before_any_case(grade: Grade, source: str, verdict: Verdict, key: str | None) -> None:
    report = grade(source, compile_s=4.0)
    assert (report.verdict, report.cases, report.score) == (verdict, [], 0)
    assert report.cause is not None
    assert key is None or report.cause.key == key
    assert report.max_score == 70


def test_a_syntax_error_is_marked_in_the_file(grade: Grade) -> None:
    (annotation,) = grade("import torch\n\ndef softmax(x, out)\n    pass\n").annotations
    assert annotation.line == 3
    assert annotation.key == "compile.syntax"
