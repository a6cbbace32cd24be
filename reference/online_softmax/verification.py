"""What the recurrence claims, each claim checked on a worked example; the examples' traces are for showing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reference.online_softmax.recurrence import Array, Step, blocks_of, exact, online, probabilities

BLOCK_SIZES = (16, 64, 128, 256, 1024, 4096)
LONG_ROW = 4096
SAME = 1e-15
"""How far apart averages of values of about 1 may be: a few float64 roundings."""

SAME_RELATIVE = 1e-14
"""The same for single probabilities, relative to them: each of up to 256 rescaled partial sums adds a rounding."""


@dataclass(frozen=True)
class Check:
    """A claim, whether it held, and the numbers that it was decided by."""

    name: str
    claim: str
    holds: bool
    found: str


@dataclass(frozen=True)
class Example:
    """A row, how it was cut, and what happened at every block."""

    name: str
    scores: tuple[float, ...]
    block_size: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Verification:
    """One section: the example that shows it, where one is short enough to be read, and what was checked."""

    title: str
    checks: tuple[Check, ...]
    example: Example | None = None


def verify() -> tuple[Verification, ...]:
    """Run every section. The same numbers each time."""
    sections: tuple[Callable[[], Verification], ...] = (
        growing_maximum,
        any_partition,
        falling_denominator,
        overflow_without_the_maximum,
        masked_first_block,
    )
    return tuple(section() for section in sections)


def growing_maximum() -> Verification:
    """The trace of a short row whose maximum grows at some blocks and stays at others."""
    scores = np.array([0.5, -1.0, 0.25, 1.5, 1.0, -0.5, 1.5, 0.0, 3.0, 2.0, -2.0, 2.5])
    values = np.linspace(-1.0, 2.0, 2 * scores.size).reshape(-1, 2)
    state, steps = online(scores, values, blocks_of(scores.size, 2))
    before = (-math.inf, *(step.running_max for step in steps))
    grew = [step.running_max > m for step, m in zip(steps, before, strict=False)]
    shrinks = [step.factor < 1 for step in steps]
    keeps = all(step.factor == 1 for step, g in zip(steps, grew, strict=True) if not g)
    checks = (
        Check(
            "factor_below_one",
            "the factor is below 1 where the maximum grows, and 1 elsewhere",
            shrinks == grew and keeps and 0 < sum(grew) < len(steps),
            f"the maximum grew in {sum(grew)} of {len(steps)} blocks, the factor was below 1 in {sum(shrinks)}",
        ),
        Check(
            "first_factor",
            "the first factor is exp(-inf) = 0: the empty state is dropped",
            steps[0].factor == 0.0,
            f"c = {steps[0].factor}",
        ),
        _same("equals_exact", "O/l is the exact softmax average", state.average(), exact(scores, values)),
    )
    return Verification("the recurrence, block by block", checks, _example("growing_maximum", scores, 2, steps))


def any_partition() -> Verification:
    """One long row, cut into blocks of several sizes, forwards and backwards."""
    generator = np.random.default_rng(20181)
    scores, values = generator.normal(0.0, 2.0, LONG_ROW), generator.normal(0.0, 1.0, (LONG_ROW, 4))
    expected = exact(scores, values)
    checks = []
    for size in BLOCK_SIZES:
        state, steps = online(scores, values, blocks_of(LONG_ROW, size))
        claim = f"blocks of {size} ({len(steps)}) give the exact average"
        checks.append(_same(f"blocks_of_{size}", claim, state.average(), expected))
    backwards, path = online(scores, values, blocks_of(LONG_ROW, 16)[::-1])
    forwards, other_path = online(scores, values, blocks_of(LONG_ROW, 16))
    different = [step.running_max for step in path] != [step.running_max for step in other_path]
    checks.append(_same("reversed", "the reversed order does too", backwards.average(), expected, different))
    relative = probabilities(scores, backwards) / probabilities(scores, forwards) - 1
    checks.append(
        _below("each_probability", "every single probability is the same in both orders", relative, SAME_RELATIVE)
    )
    return Verification(f"independence from the partition, N = {LONG_ROW}", tuple(checks))


def falling_denominator() -> Verification:
    """A late score so large that everything before it vanishes: l goes from 2 to 4 and back to 2."""
    scores, values = np.array([0.0, 0.0, 0.0, 0.0, 100.0, 100.0]), np.arange(1.0, 7.0)[:, None]
    state, steps = online(scores, values, blocks_of(scores.size, 2))
    denominators = [step.denominator for step in steps]
    checks = (
        Check(
            "not_monotone",
            "the denominator goes from 2 to 4 and back to 2",
            denominators[:2] == [2.0, 4.0] and abs(denominators[2] - 2.0) <= SAME,
            " → ".join(f"{value:.6g}" for value in denominators),
        ),
        _same("average_exact", "O/l is exact all the same", state.average(), exact(scores, values)),
    )
    example = _example("falling_denominator", scores, 2, steps)
    return Verification("the denominator is not monotone", checks, example)


def overflow_without_the_maximum() -> Verification:
    """exp overflows float64 above 709.78: what the maximum is subtracted for."""
    scores, values = np.array([700.0, 718.0, 720.0, 690.0]), np.arange(1.0, 5.0)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):  # the overflow and inf/inf are what is shown
        weights = np.exp(scores)
        unscaled = weights @ values / weights.sum()
    state, steps = online(scores, values, blocks_of(scores.size, 2))
    checks = (
        Check(
            "overflows",
            "without the maximum exp overflows and the average is inf/inf = NaN",
            bool(np.isinf(weights).any() and np.isnan(unscaled).all()),
            f"exp(x) = {_numbers(weights)}, average = {_numbers(unscaled)}",
        ),
        _same("subtracted", "with it the average is exact", state.average(), exact(scores, values)),
    )
    example = _example("overflow_without_the_maximum", scores, 2, steps)
    return Verification("overflow without the maximum", checks, example)


def masked_first_block() -> Verification:
    """A first block of nothing but −inf: −inf − (−inf) is NaN, unless the exponents take 0 for m'."""
    scores, values = np.array([-np.inf, -np.inf, 0.5, -np.inf, 2.0, 1.0]), np.arange(1.0, 7.0)[:, None]
    blocks = blocks_of(scores.size, 2)
    with np.errstate(invalid="ignore"):  # -inf - -inf is what is shown
        unguarded, _ = online(scores, values, blocks, base=lambda running_max: running_max)
    guarded, steps = online(scores, values, blocks)
    first = steps[0]
    checks = (
        Check(
            "nan_unguarded",
            "without the guard NaN reaches the average",
            bool(np.isnan(unguarded.average()).all()),
            f"average = {_numbers(unguarded.average())}",
        ),
        _same("guarded", "with it the average is exact", guarded.average(), exact(scores, values)),
        Check(
            "nothing_seen",
            "after nothing but -inf the guarded state is still empty: l = 0, O = 0",
            first.denominator == first.largest_numerator == 0.0,
            f"l = {first.denominator}, max |O| = {first.largest_numerator}",
        ),
    )
    return Verification("-inf - (-inf)", checks, _example("masked_first_block", scores, 2, steps))


def _same(name: str, claim: str, got: Array, expected: Array, besides: bool = True) -> Check:
    return _below(name, claim, got - expected, SAME, besides)


def _below(name: str, claim: str, differences: Array, bound: float, besides: bool = True) -> Check:
    largest = float(np.abs(differences).max())  # NaN is not below any bound
    return Check(name, claim, besides and largest <= bound, f"largest difference {largest:.3e}, allowed {bound:.0e}")


def _example(name: str, scores: Array, block_size: int, steps: tuple[Step, ...]) -> Example:
    return Example(name, tuple(float(score) for score in scores), block_size, steps)


def _numbers(array: Array) -> str:
    return "[" + ", ".join(f"{value:.6g}" for value in array) + "]"
