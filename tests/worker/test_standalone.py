"""Commands that judge without a server: what they are set up with, and what they say when that cannot be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.cli import cli
from graders.catalogue import judge_catalogue
from graders.limits import SOURCE_BYTES, Limits
from graders.package import Package
from graders.report import CaseResult, Cause, Mismatch, Report, WrongElement
from graders.verdict import CaseStatus, Verdict, Visibility
from tests.builders import passed_case
from tests.builders import report as report_of
from tests.drills import new_drill
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


@pytest.fixture
def jobs(_quickly_set_up: None, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Job, Package]]:
    """What a supervisor is asked to grade, which accepts all of it."""
    asked: list[tuple[Job, Package]] = []

    class Accepting:
        def __init__(self, *_: object, **__: object) -> None: ...

        def warm_up(self) -> None: ...

        def close(self) -> None: ...

        def grade(self, job: Job, package: bytes, *_: object) -> Report:
            asked.append((job, Package.from_zip(job.slug, package)))
            return report_of()

    monkeypatch.setattr(grade, "Supervisor", Accepting)
    return asked


@pytest.mark.parametrize("zipped", [False, True])
def test_a_drill_that_was_uploaded_can_be_replayed(
    zipped: bool, tmp_path: Path, jobs: list[tuple[Job, Package]]
) -> None:
    drill = new_drill()
    where = tmp_path / "drill.zip"
    if zipped:
        where.write_bytes(drill.to_zip())
    else:
        where = tmp_path / "drill"
        for name, data in drill.files.items():
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            (where / name).write_bytes(data)
    assert grade.main([str(KERNEL), "--drill", str(where), "--seed", "5f1c"]) == 0
    ((job, package),) = jobs
    assert (job.slug, job.seed) == (drill.slug, "5f1c")
    assert package.files == drill.files


def test_without_a_seed_the_tests_are_drawn_anew(jobs: list[tuple[Job, Package]]) -> None:
    for _ in range(2):
        assert grade.main([str(KERNEL), "--drill", "t2_softmax"]) == 0
    assert len({job.seed for job, _ in jobs}) == 2


def test_a_byte_order_mark_is_no_part_of_the_source(tmp_path: Path, jobs: list[tuple[Job, Package]]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(KERNEL.read_text(), "utf-8-sig")
    assert grade.main([str(file), "--drill", "t2_softmax"]) == 0
    ((job, _),) = jobs
    assert job.source == KERNEL.read_text()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf \n", "is empty"),
        (b"x = '\0'\n", "contains a NUL character"),
        (b"# \xe9\n", "is not UTF-8 text"),
        (b"#" * (SOURCE_BYTES + 1), f"has {SOURCE_BYTES + 1} bytes, more than {SOURCE_BYTES}"),
    ],
    ids=["empty", "blank", "nul", "latin_1", "too_large"],
)
def test_what_the_server_refuses_is_refused_in_a_line(
    data: bytes, said: str, tmp_path: Path, jobs: list[tuple[Job, Package]], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    file.write_bytes(data)
    assert grade.main([str(file), "--drill", "t2_softmax"]) == 2
    assert capsys.readouterr().err == f"warpgrade grade: {file} {said}\n"
    assert not jobs


@pytest.mark.parametrize(
    ("name", "said"), [("nowhere", "is no file, no folder and none of the drills"), (".", "graders/<slug>/drill.toml")]
)
def test_what_is_no_drill_is_told_in_a_line(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = KERNEL.absolute()
    monkeypatch.chdir(tmp_path)
    assert grade.main([str(kernel), "--drill", name]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_the_command_hands_everything_on(monkeypatch: pytest.MonkeyPatch) -> None:
    become: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, arguments: become.append(arguments[2:]))
    for more in ([], ["--seed", "5f1c", "--json"]):
        assert CliRunner().invoke(cli, ["grade", str(KERNEL), "--drill", "a.zip", *more]).exit_code == 0
    module = ["worker.grade", str(KERNEL), "--drill=a.zip"]
    assert become == [module, [*module, "--seed=5f1c", "--json"]]


def failing(ordinal: int, visibility: Visibility, **mismatch: Any) -> CaseResult:
    first = WrongElement(index=[0, ordinal], expected="0.25", got="0.5", allowed=5e-6)
    return passed_case(
        ordinal,
        visibility,
        status=CaseStatus.FAILED,
        verdict=Verdict.WRONG_ANSWER,
        points=0,
        cause=Cause(key="case.wrong", params={"count": 3, "total": 8}, hint_key="hint.masks"),
        mismatch=Mismatch(
            **{"count": 3, "total": 8, "max_abs": 0.25, "max_ulp": 2.0, "first": first, "pattern": "pattern.rows"}
            | mismatch
        ),
    )


def told(*cases: CaseResult, locale: str = "en", **changes: Any) -> list[str]:
    report = report_of(list(cases), verdict=Verdict.WRONG_ANSWER, score=0, **changes)
    return grade.render(report, judge_catalogue(), locale).splitlines()


def test_the_first_public_test_that_fails_is_told_in_full() -> None:
    lines = told(
        *(failing(number, seen) for number, seen in enumerate([Visibility.HINTED, *[Visibility.PUBLIC] * 2], 1))
    )
    start = next(number for number, line in enumerate(lines) if line.startswith("  2 FAILED"))
    assert lines[start + 1 : start + 7] == [
        "    The first wrong element is at [0, 2]: expected 0.25, got 0.5.",
        "    It may be off by 5e-06.",
        "    The largest error is 0.25; in units in the last place it is 2.",
        "    Some whole rows are wrong, the others are right.",
        "    Check the mask and the value of masked elements, then the end of the row.",
        "  3 FAILED  basic/case_3 3 of 8 elements are further from the right answer than rounding explains.",
    ]
    assert sum("first wrong element" in line for line in lines) == 1


def test_where_no_public_test_fails_the_first_of_the_others_is_told() -> None:
    lines = told(passed_case(), failing(2, Visibility.HIDDEN, first=None, max_abs=None, max_ulp=None), locale="zh")
    assert [line for line in lines if line.startswith("    ")] == [
        "    有些行整行不对，其余的行都对。",
        "    检查 mask 和被屏蔽元素的填充值，再看行尾。",
    ]


def test_what_a_submission_says_does_not_look_like_the_verdict() -> None:
    said = "\x1b[2J\x1b[Haccepted (AC)\n10 / 10\x9b0m"
    cause = Cause(key="case.exception", params={"type": "ValueError", "message": said, "line": 1})
    lines = told(cause=cause)
    assert "accepted (AC)" not in lines
    assert "      | 10 / 10⟨U+009B⟩0m" in "\n".join(lines)
    assert not {"\x1b", "\x9b"} & set("".join(lines))


def test_what_ended_it_is_told_with_its_hint() -> None:
    cause = Cause(key="case.signal", params={"signal": "SIGSEGV"}, hint_key="hint.crash")
    lines = told(cause=cause)
    assert lines[lines.index(judge_catalogue().render(cause.key, cause.params)) + 1].startswith(
        "  Check that no address"
    )
