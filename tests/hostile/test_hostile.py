"""Every known way to fool a grader fools a naive one, and not the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graders.package import Package
from graders.report import Report
from graders.verdict import Lane, Verdict, Visibility
from graders.visibility import visible_report
from tests.faults import RIGHT
from tests.hostile.conftest import Naive
from tests.hostile.corpus import CATALOGUE, NOT_EXPRESSIBLE, OPTIONAL, REQUIRED, Hostile, corpus
from tests.hostile.judged import BETWEEN_CHECKS, LEAKED, assert_withstood, honest_version
from tests.worker.conftest import Quiet, make_job
from worker.supervisor.supervisor import Supervisor

CORPUS = corpus()
HERE = [hostile for hostile in CORPUS if hostile.runs_in(Lane.INTERPRETER)]
WRONG = "def softmax(x, out):\n    out.fill_(7.0)\n"

CASE_S, GRADING_S = 8.0, 90.0
"""Enough for all but those that wait for ever, which ask for less."""


def grade(supervisor: Supervisor, package: Package, source: str, **limits: float) -> Report:
    job = make_job(source, package, **{"case_s": CASE_S, "grading_s": GRADING_S, **limits})
    return supervisor.grade(job, package.to_zip(), Quiet())


@pytest.mark.parametrize("hostile", CORPUS, ids=lambda item: item.name)
def test_a_header_says_what_must_happen(hostile: Hostile) -> None:
    assert hostile.header.keys() >= REQUIRED
    assert hostile.header.keys() <= REQUIRED | OPTIONAL
    assert hostile.lane in ("interpreter", "gpu", "both")
    assert ("one lane because" in hostile.header) == (hostile.lane != "both")
    expected = set().union(*(hostile.expected_in(lane) for lane in Lane if hostile.runs_in(lane)))
    assert expected
    assert hostile.fools_about or hostile.header["naive"].startswith("not expressible because ")
    assert (Verdict.ACCEPTED in expected) == (hostile.accepted_because is not None), "reasons are for accepted"
    if hostile.accepted_because is not None:
        assert hostile.accepted_because == "residual" or hostile.accepted_because.startswith("no advantage because ")
        assert not hostile.scores_nothing


@pytest.mark.parametrize("hostile", [item for item in CORPUS if item.clock], ids=lambda item: item.name)
def test_what_is_about_the_clock_has_an_honest_version(hostile: Hostile) -> None:
    assert hostile.runs_in(Lane.GPU), "only there is speed measured"
    compile(honest_version(hostile), hostile.name, "exec")


def test_every_mechanism_of_the_catalogue_is_tried_or_cannot_be() -> None:
    tried = {hostile.exploit for hostile in CORPUS}
    assert tried | NOT_EXPRESSIBLE.keys() == CATALOGUE
    assert tried & NOT_EXPRESSIBLE.keys() == set()


@pytest.fixture(scope="module")
def honest_result(naive: Naive, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the naive grader says of a right kernel."""
    path = tmp_path_factory.mktemp("honest") / "right.py"
    path.write_text(RIGHT)
    return naive(path)


def test_the_naive_grader_is_no_straw_man(naive: Naive, honest_result: dict[str, Any], tmp_path: Path) -> None:
    assert honest_result["passed"]
    assert honest_result["speed_up"] < 1
    (tmp_path / "wrong.py").write_text(WRONG)
    wrong = naive(tmp_path / "wrong.py")
    assert wrong == {**wrong, "passed": False, "returncode": 0}


@pytest.mark.parametrize("hostile", [item for item in CORPUS if item.fools_about], ids=lambda item: item.name)
def test_a_naive_grader_is_fooled(naive: Naive, honest_result: dict[str, Any], hostile: Hostile) -> None:
    result = naive(hostile.path)
    assert result.get("passed") is True, result
    assert result["returncode"] == 0
    if hostile.fools_about == "time":
        assert result["time_ms"] < honest_result["time_ms"] / 4
    if hostile.fools_about == "speed-up":
        assert result["speed_up"] > 1


@pytest.mark.parametrize("hostile", HERE, ids=lambda item: item.name)
def test_the_judge_is_not_fooled(
    supervisor: Supervisor, package: Package, reduced_package: Package, hostile: Hostile
) -> None:
    used = package if hostile.needs_every_case else reduced_package
    report = grade(supervisor, used, hostile.source, **hostile.limits)
    assert_withstood(hostile, Lane.INTERPRETER, report)
    if HERE.index(hostile) % BETWEEN_CHECKS == BETWEEN_CHECKS - 1:
        assert grade(supervisor, reduced_package, RIGHT).verdict is Verdict.ACCEPTED


def test_a_student_does_not_learn_what_another_case_than_a_public_one_saw(
    supervisor: Supervisor, reduced_package: Package
) -> None:
    (leak,) = (hostile for hostile in CORPUS if hostile.name == "leak_by_exception")
    report = grade(supervisor, reduced_package, leak.source)
    raised = {case.visibility for case in report.cases if case.verdict is Verdict.RUNTIME_ERROR}
    assert raised == {Visibility.HINTED, Visibility.HIDDEN}
    assert LEAKED in report.model_dump_json(), "staff see it"
    assert LEAKED not in visible_report(report, staff=False).model_dump_json()


def test_a_public_case_is_run_before_it_could_tell_of_others(supervisor: Supervisor, reduced_package: Package) -> None:
    (leak,) = (hostile for hostile in CORPUS if hostile.name == "leak_by_memory")
    cases = f"graders/{reduced_package.slug}/cases.py"
    backwards = reduced_package.files[cases] + b"\nCASES = CASES[::-1]\n"
    report = grade(supervisor, Package(reduced_package.slug, reduced_package.files | {cases: backwards}), leak.source)
    assert report.verdict is Verdict.ACCEPTED
    assert [case.ordinal for case in report.cases] == list(range(1, len(report.cases) + 1))
    assert report.cases[-1].visibility is Visibility.PUBLIC
    assert LEAKED not in visible_report(report, staff=False).model_dump_json()


def test_a_source_of_control_characters_is_graded(supervisor: Supervisor, reduced_package: Package) -> None:
    report = grade(supervisor, reduced_package, f"{RIGHT}\n# " + "\x01" * 60_000)
    assert report.verdict is Verdict.ACCEPTED


def test_a_source_that_is_slow_to_parse_is_its_own_trouble(supervisor: Supervisor, reduced_package: Package) -> None:
    nested = "[" * 90 + "]" * 90
    report = grade(supervisor, reduced_package, f"{RIGHT}\nx = " + "+".join([nested] * 300))
    assert report.verdict in (Verdict.ACCEPTED, Verdict.COMPILE_ERROR, Verdict.RUNTIME_ERROR)


def test_a_right_kernel_is_accepted_after_all_that(supervisor: Supervisor, package: Package) -> None:
    report = grade(supervisor, package, RIGHT)
    assert report.verdict is Verdict.ACCEPTED
    assert report.score == report.max_score
