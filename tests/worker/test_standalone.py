"""Commands that judge without a server: what they are set up with, and what they say when that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graders.limits import Limits
from worker import grade
from worker.job import UNSANDBOXED, Job
from worker.standalone import set_up
from worker.supervisor import lane
from worker.supervisor.supervisor import JudgeFailed
from worker.validation import __main__ as validation

KERNEL = Path("graders/t2_softmax/starter.py")
COMMANDS = (
    (grade.main, [str(KERNEL), "--drill", "t2_softmax"]),
    (validation.main, ["t2_softmax"]),
)


@pytest.mark.parametrize(("main", "arguments"), COMMANDS, ids=["grade", "validate"])
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SANDBOX", "bogus", "sandbox: Input should be"),
        ("LANE", "bogus", "lane: Input should be"),
        ("LANE", "gpu", "this machine has no GPU"),
        ("LIMITS_CASE_S", "long", "limits_case_s: Input should be"),
    ],
)
def test_what_cannot_be_set_up_is_one_clear_line(
    main: Any,
    arguments: list[str],
    name: str,
    value: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(f"WARPGRADE_{name}", value)
    monkeypatch.setattr(lane, "gpu_nodes", lambda: ())
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("warpgrade ")
    assert said in told
    assert told.count("\n") == 1


@pytest.fixture
def _quickly_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LANE", "interpreter"), ("SANDBOX", "off"), ("LIMITS_CASE_S", "3")):
        monkeypatch.setenv(f"WARPGRADE_{name}", value)


@pytest.mark.usefixtures("_quickly_set_up")
def test_the_operators_limits_hold_without_a_server_too() -> None:
    judging = set_up()
    assert (judging.post.sandbox.name, judging.maximum.case_s) == (UNSANDBOXED, 3)


@pytest.mark.usefixtures("_quickly_set_up")
def test_a_grading_that_fails_by_no_fault_of_the_submission_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Failing:
        def __init__(self, *_: object, maximum: Limits, **__: object) -> None:
            assert maximum.case_s == 3

        def warm_up(self) -> None: ...

        def close(self) -> None: ...

        def grade(self, job: Job, *_: object) -> None:
            raise JudgeFailed(f"{job.limits.case_s:g} s were not enough")

    monkeypatch.setattr(grade, "Supervisor", Failing)
    assert grade.main([str(KERNEL), "--drill", "t2_softmax"]) == 2
    assert capsys.readouterr().err == "warpgrade grade: 3 s were not enough\n"
