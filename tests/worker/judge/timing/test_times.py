"""Seconds a call from seconds of rounds, whose launches cost something and who is charged for what."""

from __future__ import annotations

import math

import pytest

from worker.judge.timing.measure import _Times
from worker.judge.timing.rounds import Round

CALL_S, LAUNCH_S, ROUND_S, COPY_S = 50e-6, 4e-6, 300e-6, 2e-3
"""Of a call on the device, of one launch by the host, of a round beyond its launches, and of the copies after it."""


def rounds(
    launches: int, calls: int, *, call_s: float = CALL_S, launch_s: float = 0.0, late_s: float = 0.0
) -> list[Round]:
    seconds = ROUND_S + launches * launch_s + calls * call_s
    return [Round(seconds * (1 + 1e-4 * (number % 3)), COPY_S + late_s) for number in range(12)]


def test_what_a_round_costs_beyond_its_calls_is_no_part_of_them() -> None:
    times = _Times.of(rounds(18, 18), rounds(18, 18), rounds(1, 1), calls=18, count=18)
    assert times.reference_s[0] == pytest.approx(CALL_S, rel=1e-3)
    assert times.candidate_s[0] == pytest.approx(CALL_S, rel=1e-3)
    assert math.exp(times.log_ratio) == pytest.approx(1, abs=1e-3)


def test_who_makes_single_calls_beside_graphs_pays_for_its_launches() -> None:
    """The reference: 4 graphs of 16 calls. The candidate: 64 calls, whose launches the device waits for."""
    alone = rounds(64, 64, launch_s=LAUNCH_S)
    times = _Times.of(alone, rounds(4, 64), rounds(1, 16), calls=64, count=4)
    assert times.reference_s[0] == pytest.approx(CALL_S, rel=1e-3)
    assert times.candidate_s[0] == pytest.approx(CALL_S + LAUNCH_S, rel=1e-3)


def test_a_candidate_that_was_not_done_when_it_said_so_is_charged() -> None:
    early = rounds(18, 18, call_s=CALL_S / 2, late_s=9 * CALL_S)
    times = _Times.of(early, rounds(18, 18), rounds(1, 1), calls=18, count=18)
    assert math.exp(times.log_ratio) == pytest.approx(1, abs=0.03)
    assert math.exp(times.log_ratio) < 1.03
