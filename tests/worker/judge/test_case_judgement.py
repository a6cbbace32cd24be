"""What is said of an output that was not written, or not all of it: the NaN in it is the judge's own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import graders
from graders.drill import Drill, load_drill
from graders.memory import Call, Destination, Layout, Operand
from graders.report import WrongElement
from graders.verdict import Verdict
from worker.judge.case_judgement import Judgement, judge_call
from worker.judge.messages import Returned
from worker.judge.placement import Collected

NAN = float("nan")


@pytest.fixture(scope="module")
def drill() -> Drill:
    return load_drill(Path(graders.__file__).parent.parent, "t2_softmax")


def judged(drill: Drill, out: torch.Tensor, unwritten: torch.Tensor) -> Judgement:
    """What is found on rows of zeros, of which the softmax is 1/4 everywhere."""
    layout = Layout.of(out.shape, out.stride())
    x = Operand(torch.zeros(out.shape), layout)
    collected = Collected((out,), (unwritten,), None, None)
    said = Returned(type="returned", launches=1, operations=[], returned=None, functions=["kernel"])
    return judge_call(drill, Call((x,), (Destination(out.dtype, layout),)), collected, said, guards_inputs=False)


def test_of_what_was_not_written_no_values_are_told(drill: Drill) -> None:
    found = judged(drill, torch.full((3, 4), NAN), torch.ones(3, 4, dtype=torch.bool))
    assert (found.verdict, found.mismatch) == (Verdict.WRONG_ANSWER, None)
    assert found.cause is not None
    assert found.cause.key == "case.not_written"


def test_of_what_was_partly_written_the_place_is_told(drill: Drill) -> None:
    out, unwritten = torch.full((3, 4), 0.25), torch.zeros(3, 4, dtype=torch.bool)
    out[:, 2:], unwritten[:, 2:] = NAN, True
    found = judged(drill, out, unwritten)
    assert found.cause is not None
    assert (found.cause.key, found.cause.params["first"]) == ("case.partly_written", "[0, 2]")
    assert found.mismatch is not None
    assert (found.mismatch.pattern, found.mismatch.first) == ("pattern.tail_columns", None)


def test_a_wrong_element_that_was_written_is_told(drill: Drill) -> None:
    out, unwritten = torch.full((3, 4), 0.25), torch.zeros(3, 4, dtype=torch.bool)
    out[0, 1], out[2], unwritten[2] = 0.5, NAN, True
    found = judged(drill, out, unwritten)
    assert found.mismatch is not None
    assert found.mismatch.first is not None
    assert (found.mismatch.first.index, found.mismatch.first.got, found.mismatch.more) == ([0, 1], "0.5", [])


def test_a_nan_that_was_written_is_told(drill: Drill) -> None:
    found = judged(drill, torch.full((3, 4), NAN), torch.zeros(3, 4, dtype=torch.bool))
    assert found.mismatch is not None
    assert found.mismatch.pattern == "pattern.all_nan"
    assert isinstance(found.mismatch.first, WrongElement)
