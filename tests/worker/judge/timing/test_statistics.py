from __future__ import annotations

import math
import random

import pytest

from worker.judge.timing.calibration import STRETCH_FLOOR_S, stretch
from worker.judge.timing.statistics import excess, log_ratio, relative_spread, winsorised


def noisy(mean: float, spread: float, count: int, seed: int) -> list[float]:
    drawn = random.Random(seed)
    return [mean * math.exp(drawn.gauss(0, spread)) for _ in range(count)]


def test_the_ratio_of_equal_times_is_one_within_its_half_width() -> None:
    inside = 0
    for seed in range(200):
        log, width = log_ratio(noisy(1e-4, 0.02, 30, seed), noisy(1e-4, 0.02, 30, seed + 10_000))
        inside += abs(log) <= width
    assert 180 <= inside <= 199, "a 95 % interval holds the truth about 95 times in a hundred"


def test_a_candidate_twice_as_fast_has_ratio_two() -> None:
    log, width = log_ratio(noisy(2e-4, 0.01, 40, 1), noisy(1e-4, 0.01, 40, 2))
    assert math.exp(log) == pytest.approx(2, rel=0.01)
    assert width < 0.01


def test_a_few_stray_rounds_do_not_move_the_ratio() -> None:
    clean, dirty = noisy(1e-4, 0.01, 40, 3), noisy(1e-4, 0.01, 40, 4)
    dirty[5] *= 20
    dirty[17] *= 8
    assert abs(log_ratio(clean, dirty)[0]) < 0.02


def test_one_round_has_no_half_width() -> None:
    assert log_ratio([1.0], [1.0]) == (0.0, math.inf)


def test_winsorised_values_stay_in_place_and_in_reach() -> None:
    values = winsorised([1.0, 1.1, 0.9, 1.05, 0.95, 50.0])
    assert values[:5] == [1.0, 1.1, 0.9, 1.05, 0.95]
    assert values[5] < 2


def test_the_spread_is_relative() -> None:
    assert relative_spread([1.0] * 10) == 0
    assert relative_spread([0.9, 0.95, 1.0, 1.05, 1.1]) == pytest.approx(0.05)


def test_only_what_a_time_slice_would_cost_is_a_stretch() -> None:
    assert stretch("probe", 1.2e-4, 1.1e-4) is None
    assert stretch("fill", 5.1e-3, 5e-3) is None
    found = stretch("probe", 1.2e-4 + 2 * STRETCH_FLOOR_S, 1.1e-4)
    assert found is not None
    assert found.operation == "probe"


def test_copies_that_take_no_longer_cost_nothing() -> None:
    assert excess(noisy(2e-3, 0.002, 20, 5), noisy(2e-3, 0.002, 20, 6)) == 0


def test_work_that_was_not_done_at_done_is_charged() -> None:
    late = [seconds + 3e-4 for seconds in noisy(2e-3, 0.002, 20, 7)]
    assert excess(late, noisy(2e-3, 0.002, 20, 8)) == pytest.approx(3e-4, rel=0.1)
