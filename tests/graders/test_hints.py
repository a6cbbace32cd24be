"""Hints: one for each cause and pattern that there is something to say of, and none that nobody gives."""

from __future__ import annotations

import pytest

from graders.catalogue import judge_catalogue
from graders.compare import Pattern
from graders.hints import BY_CAUSE, BY_PATTERN, RETURNED_INSTEAD, hinted
from graders.report import Cause, Mismatch

KEYS = judge_catalogue().keys("en")
WRONG = Cause(key="case.wrong", params={"count": 3, "total": 8})


def test_every_hint_of_the_judge_is_given_and_every_one_given_exists() -> None:
    given = {*BY_CAUSE.values(), *BY_PATTERN.values(), RETURNED_INSTEAD}
    assert given == {key for key in KEYS if key.startswith("hint.")}


def test_hints_are_for_causes_and_patterns_that_there_are() -> None:
    assert set(BY_CAUSE) <= KEYS
    assert set(BY_PATTERN) == {f"pattern.{pattern}" for pattern in Pattern}


@pytest.mark.parametrize(("pattern", "hint"), BY_PATTERN.items())
def test_wrong_values_are_hinted_at_by_their_pattern(pattern: str, hint: str) -> None:
    told = hinted(WRONG, Mismatch(count=3, total=8, pattern=pattern))
    assert told == WRONG.model_copy(update={"hint_key": hint})


def test_another_cause_counts_more_than_the_pattern() -> None:
    cause = Cause(key="case.outside_write", params={"tensor": "out", "offset": 9})
    told = hinted(cause, Mismatch(count=3, total=8, pattern="pattern.all_nan"))
    assert told is not None
    assert told.hint_key == "hint.write_inside"


def test_a_hint_that_is_there_already_stays() -> None:
    cause = Cause(key="case.not_written", hint_key=RETURNED_INSTEAD)
    assert hinted(cause) is cause


@pytest.mark.parametrize("key", ["case.not_run", "judge.lane_cannot", "compile.syntax", "case.wrong"])
def test_what_says_enough_has_none(key: str) -> None:
    assert hinted(Cause(key=key)) == Cause(key=key)
    assert hinted(None) is None
