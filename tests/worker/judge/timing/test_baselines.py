"""What stands beside a submission's time: measured once, and left out where it is wrong."""

from __future__ import annotations

from typing import Any, cast

import pytest

from worker.judge.timing.baselines import Baselines, call_s
from worker.judge.timing.contestant import Contestant
from worker.judge.timing.rounds import Round, Rounds, WrongOutput

CALL_S, ROUND_S = 50e-6, 300e-6


class Called:
    """A contestant of ten slots that notes what it is told."""

    units = tuple([index] for index in range(10))

    def __init__(self) -> None:
        self.told: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return lambda: self.told.append(name)


class Made:
    """Rounds that take what they take, or find wrong elements."""

    def __init__(self, wrong: int = 0) -> None:
        self._wrong = wrong

    def run(self, _contestant: object, count: int, *, checked: bool) -> Round:
        if checked and self._wrong:
            raise WrongOutput(self._wrong)
        return Round(ROUND_S + count * CALL_S, 0.0)


def seconds(contestant: Called, made: Made) -> float:
    return call_s(cast("Contestant", contestant), cast("Rounds", made), graphs=False, checked=True)


def test_what_a_round_costs_beyond_its_calls_is_no_part_of_them() -> None:
    contestant = Called()
    assert seconds(contestant, Made()) == pytest.approx(CALL_S)
    assert contestant.told == ["prepare", "begin", "resume", "end", "pause"]


def test_a_contestant_with_a_wrong_output_is_at_rest_again() -> None:
    contestant = Called()
    with pytest.raises(WrongOutput):
        seconds(contestant, Made(wrong=3))
    assert contestant.told == ["prepare", "begin", "resume", "end", "pause"]


def test_a_figure_is_measured_once_for_each_drill_version_shape_and_function() -> None:
    baselines, measured = Baselines(), iter([1.0, 2.0, 3.0])
    keys = [("digest", "shape", "copy"), ("digest", "shape", "torch"), ("other", "shape", "copy")]
    for _ in range(2):
        assert [baselines.seconds(*key, lambda: next(measured)) for key in keys] == [1.0, 2.0, 3.0]


def test_one_that_is_wrong_is_left_out_and_not_tried_again() -> None:
    baselines, contestant = Baselines(), Called()
    for _ in range(2):
        assert baselines.seconds("digest", "shape", "torch", lambda: seconds(contestant, Made(wrong=3))) is None
    assert contestant.told.count("prepare") == 1
