"""What a student sees of a report, by the visibility of each case."""

from __future__ import annotations

import pytest

from graders.report import (
    Annotation,
    CaseResult,
    Cause,
    Diagnosis,
    Environment,
    Message,
    Mismatch,
    Param,
    Performance,
    PerformanceStatus,
    Report,
    Severity,
    Timeline,
    WrongElement,
)
from graders.verdict import CaseStatus, State, Verdict, Visibility
from graders.visibility import NOT_COMPILED, hidden_passed, visible_case, visible_report

MISMATCH = Mismatch(
    count=3,
    total=8,
    max_abs=0.5,
    max_ulp=9.0,
    mean_abs=0.4,
    first=WrongElement(index=[0, 1], expected="1", got="2"),
    more=[WrongElement(index=[0, 3], expected="1", got="3")],
    pattern="pattern.rows",
)
RAISED = Cause(key="case.exception", params={"exception": "ValueError", "line": 7, "message": "x[0, 0] is 0.125"})


def failed(visibility: Visibility, cause: Cause = RAISED, ordinal: int = 1) -> CaseResult:
    return CaseResult(
        ordinal=ordinal,
        name="far_rows",
        category="huge",
        visibility=visibility,
        status=CaseStatus.FAILED,
        verdict=Verdict.WRONG_ANSWER,
        points=0,
        max_points=2,
        duration_ms=3.5,
        cause=cause,
        mismatch=MISMATCH,
        misconception="int32_rows",
        stdout="printed",
    )


def report_of(*cases: CaseResult) -> Report:
    evidence = Message(key="misconception.int32_rows.evidence", params={"count": len(cases)})
    return Report(
        id="1",
        drill="t2_softmax",
        drill_version=1,
        attempt=1,
        state=State.DONE,
        verdict=Verdict.WRONG_ANSWER,
        score=0,
        max_score=70,
        environment=Environment(mode="interpreter", python="3.11", torch="2.13", triton="3.7", sandbox="A"),
        timeline=Timeline(),
        annotations=[
            Annotation(
                key="annotation.misconception",
                params={"misconception": "int32_rows"},
                line=3,
                severity=Severity.WARNING,
            ),
            Annotation(key="annotation.exception", params={"exception": "ValueError"}, line=7, severity=Severity.ERROR),
        ],
        expected_cases=len(cases),
        cases=list(cases),
        diagnoses=[
            Diagnosis(
                misconception="int32_rows",
                evidence=evidence,
                hint_key="misconception.int32_rows.hint",
                cases=[case.ordinal for case in cases],
                lines=[3],
            )
        ],
        performance=Performance(
            status=PerformanceStatus.NOT_REACHED, reason=Message(key="performance.not_accepted"), max_points=0
        ),
    )


@pytest.mark.parametrize("visibility", Visibility)
def test_staff_see_everything(visibility: Visibility):
    case = failed(visibility)
    assert visible_case(case, staff=True) is case
    assert visible_report(report_of(case), staff=True).annotations == report_of(case).annotations


def test_a_public_case_is_shown_as_it_is():
    case = failed(Visibility.PUBLIC)
    assert visible_case(case, staff=False) is case


def test_a_hinted_case_shows_the_kind_of_error_and_not_the_data():
    shown = visible_case(failed(Visibility.HINTED), staff=False)
    assert shown.cause == Cause(key="case.hinted.exception", params={"exception": "ValueError", "line": 7})
    assert shown.mismatch == Mismatch(count=3, total=8, pattern="pattern.rows")
    assert shown.stdout is None
    assert (shown.name, shown.misconception) == ("far_rows", "int32_rows")


def test_the_name_of_an_exception_of_its_own_is_withheld():
    """It could be made of the data."""
    own = Cause(key="case.exception", params={"exception": "Saw3f800000", "line": 7, "message": ""})
    shown = visible_case(failed(Visibility.HINTED, own), staff=False)
    assert shown.cause == Cause(key="case.withheld.exception", params={"line": 7})


@pytest.mark.parametrize("name", sorted(NOT_COMPILED))
def test_what_a_test_says_of_compiling_is_withheld(name: str):
    said = Cause(key=f"compile.{name}", params={"name": "x", "got": "x", "expected": "x", "message": "x", "line": 7})
    shown = visible_case(failed(Visibility.HINTED, said), staff=False)
    assert shown.cause == Cause(key="case.withheld.compile", params={"line": 7}, hint_key="hint.compiler")


def test_a_hint_does_not_tell_what_the_sentence_withholds():
    said = Cause(key="compile.signature", hint_key="hint.signature")
    shown = visible_case(failed(Visibility.HINTED, said), staff=False)
    assert shown.cause == Cause(key="case.withheld.compile", hint_key="hint.compiler")


@pytest.mark.parametrize(
    ("params", "key"),
    [
        ({"exception": "ValueError", "line": 7}, "annotation.exception"),
        ({"exception": "Saw3f800000", "line": 7}, "annotation.own_exception"),
        ({"line": 7}, "annotation.stopped"),
    ],
)
def test_a_marker_names_known_exceptions_alone(params: dict[str, Param], key: str):
    marker = Annotation(
        key="annotation.exception", params=params, line=7, column=77, end_line=777, severity=Severity.ERROR
    )
    report = report_of(failed(Visibility.HINTED)).model_copy(update={"annotations": [marker]})
    (shown,) = visible_report(report, staff=False).annotations
    assert (shown.key, shown.column, shown.end_line) == (key, None, None)
    assert shown.params.get("exception") in (None, "ValueError")
    assert visible_report(report, staff=True).annotations == [marker]


def test_markers_that_read_alike_are_told_once():
    params = {"exception": "Saw3f800000", "line": 7}
    marker = Annotation(key="annotation.exception", params=params, line=7, severity=Severity.ERROR)
    other = marker.model_copy(update={"params": params | {"exception": "Saw3f000000"}})
    report = report_of(failed(Visibility.HINTED)).model_copy(update={"annotations": [marker, other]})
    assert len(visible_report(report, staff=False).annotations) == 1
    assert len(visible_report(report, staff=True).annotations) == 2


def test_what_ends_a_submission_that_has_met_hidden_tests_is_told_as_of_a_hinted_test():
    report = report_of(failed(Visibility.PUBLIC)).model_copy(update={"cause": RAISED})
    withheld = report.model_copy(update={"withheld": True})
    told = visible_report(withheld, staff=False).cause
    assert told == Cause(key="case.hinted.exception", params={"exception": "ValueError", "line": 7})
    assert visible_report(withheld, staff=True).cause == RAISED
    assert visible_report(report, staff=False).cause == RAISED, "what no test's data has reached is told whole"


def test_what_the_lane_cannot_judge_is_not_named():
    cannot = Cause(key="judge.lane_cannot", params={"exception": "Saw3f800000"})
    report = report_of(failed(Visibility.PUBLIC)).model_copy(update={"cause": cannot})
    assert visible_report(report, staff=False).cause == Cause(key="judge.lane_cannot")


def test_a_hint_survives_what_is_withheld():
    cause = Cause(key="case.wrong", params={"count": 3, "total": 8}, hint_key="hint.masks")
    assert visible_case(failed(Visibility.HINTED, cause), staff=False).cause == cause


def test_a_hidden_case_shows_only_that_it_failed():
    cause = RAISED.model_copy(update={"hint_key": "hint.masks"})
    shown = visible_case(failed(Visibility.HIDDEN, cause), staff=False)
    assert shown.cause == Cause(key="case.hidden.wrong_answer")
    assert shown.name == "huge_1"
    assert (shown.mismatch, shown.misconception, shown.stdout, shown.duration_ms) == (None, None, None, None)


def test_a_skipped_case_says_why():
    cause = Cause(key="skip.interpreter_dtype", params={"dtype": "bfloat16"})
    skipped = CaseResult(
        ordinal=1,
        name="n",
        category="dtypes",
        visibility=Visibility.HIDDEN,
        status=CaseStatus.SKIPPED,
        verdict=None,
        points=0,
        max_points=0,
        cause=cause,
    )
    assert visible_case(skipped, staff=False).cause == cause


def test_a_diagnosis_of_hidden_cases_alone_is_withheld_with_its_marker():
    shown = visible_report(report_of(failed(Visibility.HIDDEN)), staff=False)
    assert shown.diagnoses == []
    assert [annotation.key for annotation in shown.annotations] == ["annotation.exception"]


def test_a_diagnosis_names_only_the_cases_that_are_shown():
    shown = visible_report(report_of(failed(Visibility.HINTED), failed(Visibility.HIDDEN, ordinal=2)), staff=False)
    assert [diagnosis.cases for diagnosis in shown.diagnoses] == [[1]]
    assert len(shown.annotations) == 2


def test_hidden_cases_are_counted():
    assert hidden_passed(report_of(failed(Visibility.HIDDEN), failed(Visibility.HINTED, ordinal=2))) == (0, 1)
