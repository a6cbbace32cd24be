"""What catches what, from reports alone."""

from __future__ import annotations

from typing import Any

import pytest

from graders import catches
from graders.catches import Graded, case_outcomes, catching_findings, outcome, reference_findings, submission_findings
from graders.corpus import Example, Expectation
from graders.report import Cause, Diagnosis, Message, Performance, PerformanceStatus, Report, ShapeTiming
from graders.validation import Finding, FindingCode, LaneCost
from graders.verdict import CaseStatus, Lane, Verdict
from tests.builders import passed_case
from tests.builders import report as built

CASES = ("a1", "a2", "b1")
"""Cases of the categories a and b, by the first letter."""


def judged(failed: str = "", skipped: str = "", not_run: str = "", **changes: Any) -> Report:
    """A report on ``CASES``, of which the named ones did not pass."""
    cases = []
    for ordinal, name in enumerate(CASES, 1):
        values: dict[str, Any] = {"name": name, "category": name[0]}
        if name in skipped.split():
            values |= {"status": CaseStatus.SKIPPED, "verdict": None, "points": 0, "cause": Cause(key="skip.needs_gpu")}
        elif name in failed.split():
            cause = Cause(key="case.wrong")
            values |= {"status": CaseStatus.FAILED, "verdict": Verdict.WRONG_ANSWER, "points": 0, "cause": cause}
        elif name in not_run.split():
            cause = Cause(key="case.not_run")
            values |= {"status": CaseStatus.ERROR, "verdict": Verdict.RUNTIME_ERROR, "points": 0, "cause": cause}
        cases.append(passed_case(ordinal, **values))
    verdicts = {case.verdict for case in cases} - {None, Verdict.ACCEPTED}
    return built(cases, verdict=min(verdicts) if verdicts else Verdict.ACCEPTED, **changes)


def graded(
    name: str = "x", failed: str = "", fails: str | None = None, misconception: str | None = None, **parts: Any
) -> Graded:
    expected = frozenset({parts.pop("expect", Verdict.WRONG_ANSWER)})
    claimed = None if fails is None else frozenset(fails.split())
    expectation = Expectation(expected, expected, claimed, misconception)
    example = Example(f"wrong_answer/{name}", f"s/{name}.py", "", expectation)
    return Graded(example, parts.pop("report", None) or judged(failed, **parts))


REFERENCE = Graded(catches.reference_example("tiny", ""), judged())


def found(*submissions: Graded, misconceptions: tuple[str, ...] = ()) -> list[Finding]:
    cases = case_outcomes(REFERENCE, submissions, Lane.INTERPRETER)
    outcomes = [outcome(item, Lane.INTERPRETER) for item in submissions]
    return list(catching_findings(cases, outcomes, misconceptions))


def codes(findings: list[Finding]) -> list[FindingCode]:
    return [finding.code for finding in findings]


def test_a_category_that_nothing_fails_catches_nothing():
    findings = found(graded("one", "a1 a2"), graded("two", "a1 a2"))
    assert [(item.code, item.category) for item in findings] == [(FindingCode.CATEGORY_CATCHES_NOTHING, "b")]


def test_what_fails_everything_shows_nothing():
    zeros = graded("zeros", "a1 a2 b1")
    assert codes(found(zeros)) == [FindingCode.CATEGORY_CATCHES_NOTHING] * 2


def test_what_is_accepted_here_shows_nothing_either():
    hidden = graded("race", "b1", expect=Verdict.ACCEPTED)
    assert FindingCode.CATEGORY_CATCHES_NOTHING in codes(found(hidden, graded("one", "a1 a2")))


def test_a_test_that_was_not_run_catches_nothing():
    crashed = graded("crashes", "a1", not_run="a2 b1")
    assert not outcome(crashed, Lane.INTERPRETER).passed_some
    assert outcome(crashed, Lane.INTERPRETER).failed_cases == ["a/a1"]
    assert outcome(crashed, Lane.INTERPRETER).failed_categories == ["a", "b"]


def test_single_tests_and_single_catchers_are_warned_of():
    findings = found(graded("one", "a1"), graded("two", "a1 b1"))
    assert [(item.code, item.case, item.submission) for item in findings] == [
        (FindingCode.CASE_CATCHES_NOTHING, "a/a2", None),
        (FindingCode.CAUGHT_BY_ONE_CASE, "a/a1", "wrong_answer/one"),
    ]


def test_what_this_lane_skips_is_neither_idle_nor_forgotten():
    reference = Graded(REFERENCE.example, judged(skipped="b1"))
    submissions = [graded("one", "a1", skipped="b1"), graded("two", "a2", skipped="b1")]
    cases = case_outcomes(reference, submissions, Lane.INTERPRETER)
    assert [case.judged for case in cases] == [True, True, False]
    finding, *others = catching_findings(cases, [outcome(item, Lane.INTERPRETER) for item in submissions], ())
    assert codes(others) == [FindingCode.CAUGHT_BY_ONE_CASE] * 2
    assert (finding.code, finding.params) == (FindingCode.CASES_NOT_JUDGED, {"count": 1, "cases": "b/b1"})


def test_a_misconception_has_to_be_named_for_something():
    told = Diagnosis(misconception="m", evidence=Message(key="k"), hint_key="h", cases=[1])
    one = graded("one", report=judged("a1 a2", diagnoses=[told]))
    two = graded("two", "a1 b1")
    codes_and_names = [
        (item.code, item.params.get("misconception")) for item in found(one, two, misconceptions=("m", "n"))
    ]
    assert codes_and_names == [(FindingCode.MISCONCEPTION_NEVER_NAMED, "n")]


def unexpected(item: Graded, lane: Lane = Lane.INTERPRETER) -> list[Finding]:
    return list(submission_findings(item, lane))


def test_an_accepted_mistake_is_an_error_that_says_what_was_claimed():
    (finding,) = unexpected(graded("inf", fails="b"))
    assert finding.code is FindingCode.NOT_CAUGHT
    assert (finding.submission, finding.params) == ("wrong_answer/inf", {"expected": "wrong_answer", "claims": "b"})


def test_another_verdict_is_told_with_the_judges_reason():
    (finding,) = unexpected(graded("right", "a1", expect=Verdict.ACCEPTED))
    assert finding.code is FindingCode.UNEXPECTED_VERDICT
    assert finding.cause == Message(key="case.wrong")
    assert finding.params == {"got": "wrong_answer", "expected": "accepted"}


def test_other_categories_than_claimed_are_told_in_the_lane_they_are_claimed_for():
    item = graded("one", "a1 b1", fails="a")
    (finding,) = unexpected(item)
    assert (finding.code, finding.params) == (FindingCode.UNEXPECTED_CATEGORIES, {"got": "a, b", "expected": "a"})
    assert unexpected(item, Lane.GPU) == []
    assert unexpected(graded("one", "a1 b1", fails="b a")) == []
    assert unexpected(graded("one", "a1 b1")) == []


def test_a_diagnosis_that_does_not_come_is_told():
    (finding,) = unexpected(graded("one", "a1", misconception="m"))
    assert (finding.code, finding.params) == (FindingCode.MISCONCEPTION_NOT_NAMED, {"misconception": "m", "got": "–"})


def test_the_judges_own_failure_is_the_only_finding():
    failure = Finding.of(FindingCode.JUDGE_FAILED, submission="wrong_answer/x", reason="r")
    item = Graded(graded().example, None, failure)
    assert unexpected(item) == [failure]
    assert outcome(item, Lane.INTERPRETER).got is None


def test_a_reference_that_fails_a_test_is_named_with_it():
    reference = Graded(REFERENCE.example, judged("b1"))
    (finding,) = reference_findings(reference, Lane.INTERPRETER)
    assert (finding.code, finding.case, finding.file) == (FindingCode.REFERENCE_FAILS, "b/b1", "reference/tiny.py")


def test_a_reference_that_is_refused_is_told_why():
    cause = Cause(key="policy.operation", params={"operation": "aten.sum"})
    report = built([], verdict=Verdict.COMPILE_ERROR, score=0, cause=cause)
    (finding,) = reference_findings(Graded(REFERENCE.example, report), Lane.INTERPRETER)
    assert (finding.code, finding.params) == (FindingCode.REFERENCE_REFUSED, {"verdict": "compile_error"})
    assert finding.cause == Message(key="policy.operation", params={"operation": "aten.sum"})


def measured(spread: float) -> Graded:
    """The file's own kernel takes twice as long as what is timed."""
    timing = {"time_us": 20.0, "reference_us": 10.0, "ratio": 0.5, "half_width": 0.001, "rounds": 9, "gbps": 1000.0}
    spreads = {"spread": 0.3, "reference_spread": spread}
    shape = ShapeTiming(name="s", shape=[2, 2], dtype="float32", fraction_of_copy=0.45, **timing, **spreads)
    performance = Performance(status=PerformanceStatus.MEASURED, ratio=1.0, shapes=[shape], max_points=20)
    return Graded(REFERENCE.example, judged(performance=performance))


def test_an_unsteady_reference_is_warned_of():
    assert list(reference_findings(measured(0.01), Lane.GPU)) == []
    (finding,) = reference_findings(measured(0.123), Lane.GPU)
    assert (finding.code, finding.params) == (FindingCode.REFERENCE_UNSTEADY, {"shape": "s", "spread_percent": 12.3})
    (timing,) = catches.reference_timings(measured(0.123))
    assert (timing.shape, timing.time_us, timing.fraction_of_copy) == ("s", 10.0, 0.9)


def test_a_reference_that_could_not_be_measured_on_a_gpu_is_warned_of():
    reason = Message(key="performance.interference")
    performance = Performance(status=PerformanceStatus.INTERFERENCE, reason=reason, max_points=20)
    reference = Graded(REFERENCE.example, judged(performance=performance))
    (finding,) = reference_findings(reference, Lane.GPU)
    assert (finding.code, finding.cause) == (FindingCode.REFERENCE_NOT_MEASURED, reason)
    assert list(reference_findings(reference, Lane.INTERPRETER)) == []


def test_the_slowest_case_is_that_of_an_accepted_submission():
    slow = graded(
        "slow", expect=Verdict.ACCEPTED, report=built([passed_case(name="a1", category="a", duration_ms=700.0)])
    )
    wrong = graded("wrong", "a1 a2 b1")
    cost = catches.lane_cost([REFERENCE, slow, wrong], Lane.INTERPRETER, 1000.0, {"a/a1": 3.5})
    assert cost is not None
    assert (cost.slowest_case, cost.slowest_case_ms, cost.slowest_submission) == ("a/a1", 700.0, "wrong_answer/slow")
    assert cost.memory_mib == 3.5
    (finding,) = catches.cost_findings(cost)
    assert finding.code is FindingCode.CASE_SLOW
    assert catches.lane_cost([wrong], Lane.INTERPRETER, 1000.0, {}) is None


@pytest.mark.parametrize(("limit_ms", "slow"), [(1399.0, True), (1401.0, False)])
def test_half_the_limit_is_slow(limit_ms: float, slow: bool):
    cost = LaneCost(lane=Lane.GPU, slowest_case="a", slowest_case_ms=700.0, slowest_submission="s", limit_ms=limit_ms)
    assert bool(list(catches.cost_findings(cost))) is slow
