"""The online recurrence: its claims on any row and any partition, and the program that shows them."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.online_softmax import recurrence
from reference.online_softmax.__main__ import main
from reference.online_softmax.recurrence import (
    Array,
    State,
    absorb,
    blocks_of,
    exact,
    finite_base,
    merge,
    online,
    probabilities,
)
from reference.online_softmax.verification import verify

ROOT = Path(__file__).parents[2]
SCORE = st.one_of(st.floats(-50, 50), st.sampled_from([0.0, -1000.0, 700.0, 30_000.0, -1e300]))
MASKED = st.one_of(SCORE, st.just(-math.inf))


@st.composite
def rows(draw: st.DrawFn, score: st.SearchStrategy[float] = SCORE) -> tuple[Array, Array, list[slice]]:
    """Scores, values of width 2 and a partition of the columns into blocks of any sizes, in any order."""
    scores = draw(st.lists(score, min_size=1, max_size=40))
    values = draw(st.lists(st.floats(-1, 1, width=32), min_size=2 * len(scores), max_size=2 * len(scores)))
    cuts = sorted(draw(st.sets(st.integers(1, len(scores)), max_size=8)) | {0, len(scores)})
    blocks = [slice(start, stop) for start, stop in pairwise(cuts)]
    return np.array(scores), np.array(values).reshape(-1, 2), draw(st.permutations(blocks))


def close(left: State, right: State) -> bool:
    """The same state up to rounding: a sum of up to 40 terms no larger than 1, rescaled at every block."""
    return (
        left.running_max == right.running_max
        and np.allclose(left.denominator, right.denominator, rtol=1e-12, atol=1e-12)
        and np.allclose(left.numerator, right.numerator, rtol=1e-12, atol=1e-12)
    )


@given(rows())
def test_any_partition_in_any_order_gives_the_exact_average(row: tuple[Array, Array, list[slice]]) -> None:
    scores, values, blocks = row
    state, _ = online(scores, values, blocks)
    np.testing.assert_allclose(state.average(), exact(scores, values), rtol=0, atol=1e-13)


@given(rows())
def test_the_factor_is_below_one_exactly_where_the_maximum_grows(row: tuple[Array, Array, list[slice]]) -> None:
    scores, values, blocks = row
    before = -math.inf
    for step in online(scores, values, blocks)[1]:
        growth = step.running_max - before
        assert (step.factor < 1) == (growth > 0) or 0 < growth < 1e-15, "exp of less than an ulp of 1 is 1"
        before = step.running_max
    assert before == scores.max()


@given(rows(MASKED))
def test_minus_infinity_counts_for_nothing_wherever_it_stands(row: tuple[Array, Array, list[slice]]) -> None:
    scores, values, blocks = row
    state, _ = online(scores, values, blocks)
    if np.isfinite(scores).any():
        np.testing.assert_allclose(state.average(), exact(scores, values), rtol=0, atol=1e-13)
        assert (probabilities(scores, state)[np.isneginf(scores)] == 0).all()
    else:
        assert (state.running_max, state.denominator) == (-math.inf, 0.0)
        assert np.isnan(state.average()).all()
        assert np.isnan(probabilities(scores, state)).all()


@given(rows(MASKED))
def test_probabilities_are_not_negative_and_sum_to_one(row: tuple[Array, Array, list[slice]]) -> None:
    scores, values, blocks = row
    scores[0] = 1.0
    y = probabilities(scores, online(scores, values, blocks)[0])
    assert (y >= 0).all()
    assert math.fsum(y) == pytest.approx(1.0, abs=1e-13)


@given(rows(MASKED))
def test_merging_the_states_of_blocks_is_absorbing_the_blocks(row: tuple[Array, Array, list[slice]]) -> None:
    scores, values, blocks = row
    merged = State.empty(2)
    for block in blocks:
        merged = merge(merged, online(scores[block], values[block], [slice(None)])[0])
    assert close(merged, online(scores, values, blocks)[0])


@given(rows(MASKED), rows(MASKED), rows(MASKED))
def test_merging_is_associative_and_commutative(
    first: tuple[Array, Array, list[slice]],
    second: tuple[Array, Array, list[slice]],
    third: tuple[Array, Array, list[slice]],
) -> None:
    a, b, c = (online(*row)[0] for row in (first, second, third))
    assert close(merge(merge(a, b), c), merge(a, merge(b, c)))
    assert close(merge(a, b), merge(b, a))


@given(rows(MASKED))
def test_the_empty_state_is_neutral(row: tuple[Array, Array, list[slice]]) -> None:
    state, _ = online(*row)
    for merged in (merge(state, State.empty(2)), merge(State.empty(2), state)):
        assert (merged.running_max, merged.denominator) == (state.running_max, state.denominator)
        assert (merged.numerator == state.numerator).all()


@given(rows(), st.floats(-1e6, 1e6))
@settings(max_examples=50)
def test_a_shift_of_the_row_changes_nothing(row: tuple[Array, Array, list[slice]], shift: float) -> None:
    scores, values, blocks = row
    scores = np.round(np.clip(scores, -1e6, 1e6) * 1024) / 1024  # so that adding the shift rounds nothing away
    shifted = scores + round(shift)
    ours, theirs = (online(some, values, blocks)[0] for some in (scores, shifted))
    np.testing.assert_allclose(ours.average(), theirs.average(), rtol=0, atol=1e-13)


@pytest.mark.parametrize(("length", "size"), [(1, 1), (5, 2), (6, 3), (3, 8)])
def test_blocks_cover_the_row_once(length: int, size: int) -> None:
    covered = [column for block in blocks_of(length, size) for column in range(length)[block]]
    assert covered == list(range(length))


def test_the_example_of_a_row_in_two_blocks() -> None:
    state, steps = online(np.array([1.0, 2.0, 3.0, 0.0]), np.ones((4, 1)), blocks_of(4, 2))
    assert [round(step.denominator, 3) for step in steps] == [1.368, 1.553]
    assert steps[1].factor == pytest.approx(math.exp(-1))
    assert state.average() == 1.0


def test_every_check_holds() -> None:
    for section in verify():
        for check in section.checks:
            assert check.holds, (section.title, check)


def test_the_program_passes_without_a_word_on_stderr_and_with_asserts_off() -> None:
    command = [sys.executable, "-O", "-W", "error", "-m", "reference.online_softmax"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Every check holds." in done.stdout
    assert "FAILS" not in done.stdout


def without_rescaling(state: State, scores: Array, values: Array, base: object = None) -> tuple[State, float]:
    """The mistake of adding a block to sums that are still relative to the old maximum."""
    after, factor = absorb(state, scores, values)
    kept = 1.0 if state.denominator else 0.0
    weights = np.exp(scores - finite_base(after.running_max))
    numerator = kept * state.numerator + weights @ values
    return State(after.running_max, kept * state.denominator + float(weights.sum()), numerator), factor


def test_a_wrong_recurrence_fails_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recurrence, "absorb", without_rescaling)
    assert main([]) == 1
    assert "Some checks FAIL." in capsys.readouterr().out


def test_the_json_is_strict_and_has_the_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert document["passed"] is True
    examples = {
        section["example"]["name"]: section["example"] for section in document["sections"] if section["example"]
    }
    assert [step["denominator"] for step in examples["falling_denominator"]["steps"]] == [2.0, 4.0, 2.0]
    assert examples["masked_first_block"]["steps"][0]["running_max"] == "-inf"
    assert examples["masked_first_block"]["scores"][0] == "-inf"
    assert set(examples["growing_maximum"]["steps"][0]) == {
        "block",
        "running_max",
        "factor",
        "denominator",
        "largest_numerator",
    }
