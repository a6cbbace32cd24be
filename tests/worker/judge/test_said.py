"""What a runner says went wrong, what it says it launched, and what it says it used: taken for what it can be worth."""

from __future__ import annotations

import pytest

from graders.report import Cause
from graders.verdict import Verdict
from worker.judge.case_judgement import of_operation
from worker.judge.compile_check import judge_launched
from worker.judge.messages import Failed, Failure, Returned, parse
from worker.judge.outcome import from_failure
from worker.protocol.channel import ProtocolError

RETURNED = {"type": "returned", "launches": 0, "operations": [], "returned": None}


@pytest.mark.parametrize(("line", "shown"), [(1, 1), (8, 8), (9, 0), (60_000, 0)])
def test_a_line_beyond_the_source_is_none(line: int, shown: int) -> None:
    failure = Failure(kind="exception", exception="ValueError", line=line, column=line, end_line=line)
    stopped = from_failure(failure, "f(x)", lines=7)  # a file may end in the line after its last
    assert stopped.cause.params["line"] == shown
    assert (stopped.annotation() is None) == (shown == 0)


def test_a_launch_has_a_name() -> None:
    assert isinstance(parse(RETURNED | {"launches": 1, "functions": ["kernel"]}), Returned)
    with pytest.raises(ProtocolError):
        parse(RETURNED | {"launches": 1})
    with pytest.raises(ProtocolError):
        parse(RETURNED | {"kernels": [{"name": "x", "target": "sm_90", "num_warps": 1}]})


def test_what_is_said_is_taken_without_nul() -> None:
    said = parse({"type": "failed", "failure": {"kind": "exception", "exception": "E\0", "message": "a\0b\0"}})
    assert isinstance(said, Failed)
    assert (said.failure.exception, said.failure.message) == ("E\ufffd", "a\ufffdb\ufffd")


@pytest.mark.parametrize(
    ("launched", "compiled", "verdict"),
    [
        (set(), set(), None),
        ({"a"}, {"a", "b"}, None),
        ({"a"}, set(), Verdict.COMPILE_ERROR),
        ({"a", "b"}, {"a"}, Verdict.JUDGE_ERROR),
    ],
)
def test_what_ran_must_have_been_compiled(launched: set[str], compiled: set[str], verdict: Verdict | None) -> None:
    stopped = judge_launched(launched, compiled)
    assert (stopped.verdict if stopped else None) is verdict


@pytest.mark.parametrize("name", ["aten.nonsense", "leak.Saw3f800000", "aten", "", "aten._softmax.out"])
def test_an_operation_that_torch_does_not_know_is_not_named(name: str) -> None:
    assert of_operation(name) == Cause(key="policy.own_operation", params={"name": name})
    assert of_operation("aten._softmax") == Cause(key="policy.operation", params={"operation": "aten._softmax"})
