from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from worker.judge.timing.calibration import STRETCH_FLOOR_S, stretch
from worker.judge.timing.statistics import lateness, log_ratio, relative_spread, winsorised


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
    added = lateness(noisy(2e-3, 0.002, 20, 5), noisy(2e-3, 0.002, 20, 6))
    assert sum(winsorised(added)) == pytest.approx(0, abs=1e-9)
    assert max(map(abs, added)) < 2e-5


def test_work_that_was_not_done_at_done_is_charged() -> None:
    late = [seconds + 3e-4 for seconds in noisy(2e-3, 0.002, 20, 7)]
    added = lateness(late, noisy(2e-3, 0.002, 20, 8))
    assert sum(added) / len(added) == pytest.approx(3e-4, rel=0.1)


@pytest.mark.parametrize("rounds", [8, 60])
@pytest.mark.parametrize(
    "delay",
    [
        lambda drawn: 3e-4,
        lambda drawn: drawn.uniform(0, 6e-4),
        lambda drawn: drawn.choices([0, 1.5e-4, 1e-3], [26, 25, 49])[0],
        lambda drawn: 1e-3 if drawn.random() < 0.25 else 0.0,
    ],
    ids=["always", "at random", "often much", "seldom"],
)
def test_delays_gain_nothing_however_they_are_spread(delay: Callable[[random.Random], float], rounds: int) -> None:
    """Rounds of 4 ms and copies of 2.5 ms, work of the reference's speed: half a per cent is left to place."""
    gains = []
    for seed in range(50):
        drawn = random.Random(seed)
        delays = [delay(drawn) for _ in range(rounds)]
        times = [noisy(4e-3, 0.003, rounds, 4 * seed), noisy(4e-3, 0.003, rounds, 4 * seed + 1)]
        copies = [noisy(2.5e-3, 0.002, rounds, 4 * seed + 2), noisy(2.5e-3, 0.002, rounds, 4 * seed + 3)]
        late = lateness([copied + delayed for copied, delayed in zip(copies[0], delays, strict=True)], copies[1])
        shown = [seconds - delayed + added for seconds, delayed, added in zip(times[0], delays, late, strict=True)]
        gains.append(log_ratio(times[1], shown)[0])
    assert sum(gains) / len(gains) < 0.006
