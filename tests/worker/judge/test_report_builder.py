"""What a report says of what was found, and what it leaves unsaid."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch

import graders
from graders.drill import Drill, load_drill
from graders.package import Package
from graders.report import Cause, Diagnosis, Message, Mismatch
from graders.verdict import Lane, Verdict, Visibility
from graders.visibility import visible_case
from tests.worker.conftest import make_job
from worker.judge.case_run import Finding
from worker.judge.device import Device, device_of
from worker.judge.messages import Failure
from worker.judge.outcome import Stopped, from_failure
from worker.judge.report_builder import ReportBuilder

WRONG = Finding(
    Verdict.WRONG_ANSWER,
    Cause(key="case.wrong", params={"count": 3, "total": 8}),
    Mismatch(count=3, total=8, pattern="pattern.tail_columns"),
)
OUTSIDE = Finding(Verdict.WRONG_ANSWER, Cause(key="case.outside_write", params={"tensor": "out", "offset": 47641}))


@pytest.fixture(scope="module")
def drill() -> Drill:
    return load_drill(Path(graders.__file__).parent.parent, "t2_softmax")


@pytest.fixture
def builder(drill: Drill, package: Package) -> ReportBuilder:
    job = make_job("def softmax(x, out): ...\n", package)
    return ReportBuilder(job, drill, device_of(job.lane), datetime.now(UTC))


def case_of(drill: Drill, visibility: Visibility, number: int = 0) -> int:
    """The place of a test with that visibility."""
    shown = [drill.manifest.category(case.category).visibility for case in drill.cases]
    return [place for place, seen in enumerate(shown) if seen is visibility][number]


def add(builder: ReportBuilder, drill: Drill, visibility: Visibility, finding: Finding, number: int = 0) -> int:
    place = case_of(drill, visibility, number)
    builder.cases.append(builder.case(place + 1, drill.cases[place], finding, 1.0))
    return place + 1


def accept(builder: ReportBuilder, drill: Drill) -> None:
    """Every test passes, or is one that this lane leaves out."""
    for ordinal, case in enumerate(drill.cases, 1):
        reason = builder._device.skip_reason(case)
        passed = Finding(Verdict.ACCEPTED)
        result = builder.case(ordinal, case, passed, 1.0) if reason is None else builder.skipped(ordinal, case, reason)
        builder.cases.append(result)


@pytest.mark.parametrize(("finding", "hint"), [(WRONG, "hint.masks"), (OUTSIDE, "hint.write_inside")])
def test_a_failing_case_says_where_to_look(builder: ReportBuilder, drill: Drill, finding: Finding, hint: str) -> None:
    for visibility, shown in ((Visibility.PUBLIC, hint), (Visibility.HINTED, hint), (Visibility.HIDDEN, None)):
        add(builder, drill, visibility, finding)
        told = visible_case(builder.cases[-1], staff=False).cause
        assert told is not None
        assert told.hint_key == shown, visibility


def test_what_ends_a_submission_says_where_to_look(builder: ReportBuilder) -> None:
    cause = Cause(key="compile.signature", params={"name": "softmax", "expected": "x, out", "got": "x"})
    report = builder.stopped(Stopped(Verdict.COMPILE_ERROR, cause))
    assert report.cause == cause.model_copy(update={"hint_key": "hint.signature"})


def test_a_diagnosis_knows_more_than_the_pattern(builder: ReportBuilder, drill: Drill) -> None:
    explained, other = (add(builder, drill, Visibility.HINTED, WRONG, number) for number in (0, 1))
    hint = "misconception.padding_zero.hint"
    evidence = Message(key="misconception.padding_zero.evidence")
    found = Diagnosis(misconception="padding_zero", evidence=evidence, hint_key=hint, cases=[explained])
    told = {case.ordinal: case.cause.hint_key for case in builder.finished([found]).cases if case.cause}
    assert told == {explained: hint, other: "hint.masks"}


def raised(line: int, exception: str = "ValueError", message: str = "x") -> Finding:
    stopped = from_failure(Failure(kind="exception", exception=exception, message=message, line=line), "f(x, out)")
    return Finding(stopped.verdict, stopped.cause, stopped=stopped)


def test_a_line_is_marked_once_for_what_was_raised_in_it(builder: ReportBuilder, drill: Drill) -> None:
    for number, finding in enumerate([raised(26), raised(26), raised(26, "TypeError"), raised(9)]):
        add(builder, drill, Visibility.HINTED, finding, number)
    told = [(note.key, note.line, note.params["exception"]) for note in builder.finished([]).annotations]
    marks = [(26, "ValueError"), (26, "TypeError"), (9, "ValueError")]
    assert told == [("annotation.exception", line, exception) for line, exception in marks]


def test_a_marker_that_says_more_of_a_line_is_enough(builder: ReportBuilder, drill: Drill) -> None:
    add(builder, drill, Visibility.PUBLIC, raised(26))
    for number in (0, 1):
        add(builder, drill, Visibility.HINTED, raised(26, message="y"), number)
    (note,) = builder.finished([]).annotations
    assert (note.key, note.params["message"]) == ("case.exception", "x")


def test_what_ends_a_submission_is_marked_beside_what_was_raised_before(builder: ReportBuilder, drill: Drill) -> None:
    add(builder, drill, Visibility.PUBLIC, raised(26))
    refused = from_failure(Failure(kind="kernel", message="z", line=26), "f(x, out)")
    assert [note.key for note in builder.stopped(refused).annotations] == ["case.exception", "compile.kernel"]


NOT_ACCEPTED = Stopped(Verdict.COMPILE_ERROR, Cause(key="compile.missing_entry", params={"name": "softmax"}))
FAILED_US = Stopped(Verdict.JUDGE_ERROR, Cause(key="judge.lane_cannot"))


@pytest.mark.parametrize("stopped", [NOT_ACCEPTED, FAILED_US, None])
def test_points_for_speed_are_pending_for_what_is_accepted_alone(
    builder: ReportBuilder, drill: Drill, stopped: Stopped | None
) -> None:
    add(builder, drill, Visibility.PUBLIC, WRONG)
    report = builder.stopped(stopped) if stopped else builder.finished([])
    assert report.performance.reason == Message(key="performance.not_accepted")
    assert (report.performance.pending_points, report.performance.max_points) == (0, 0)
    assert [notice.key for notice in report.notices] == ["notice.interpreter"]


def test_an_accepted_one_is_told_what_is_pending(builder: ReportBuilder, drill: Drill) -> None:
    accept(builder, drill)
    report = builder.finished([])
    assert report.verdict is Verdict.ACCEPTED
    assert report.performance.reason == Message(key="performance.no_gpu")
    assert report.performance.pending_points == 30
    assert Message(key="notice.pending_points", params={"points": 30}) in report.notices


@pytest.mark.parametrize(("finding", "key"), [(WRONG, "not_accepted"), (Finding(Verdict.ACCEPTED), "no_shapes")])
def test_on_a_gpu_nothing_is_pending(drill: Drill, package: Package, finding: Finding, key: str) -> None:
    job = make_job("def softmax(x, out): ...\n", package).model_copy(update={"lane": Lane.GPU, "measure": False})
    device = Device(Lane.GPU, torch.device("cpu"), memory_gb=139.0)
    builder = ReportBuilder(job, drill, device, datetime.now(UTC))
    accept(builder, drill)
    if finding is WRONG:
        builder.cases.pop(0)
        add(builder, drill, Visibility.PUBLIC, WRONG)
    report = builder.finished([])
    assert report.performance.reason == Message(key=f"performance.{key}")
    assert (report.performance.pending_points, report.performance.max_points) == (0, 30)
    assert report.notices == []
