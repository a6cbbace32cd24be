"""The recurrence: a row's softmax from one block of it after another, in one pass.

After some blocks of the scores x and the values v (what softmax averages, as attention does) the row's state is

    m = max x        l = Σ exp(x − m)        O = Σ exp(x − m)·v

and a block with maximum m_block changes it to

    m' = max(m, m_block)    c = exp(m − m')    l' = c·l + Σ_block exp(x − m')    O' = c·O + Σ_block exp(x − m')·v

so that O/l is the row's softmax average at any time, whichever way the row was cut (Milakov and Gimelshein, "Online
normalizer calculation for softmax", 2018; with O, Dao et al., "FlashAttention", 2022). While m is −inf, m − m' is
−inf − (−inf) = NaN: the exponents then take 0 for m', which leaves l and O at 0.

Scores are float64, finite or −inf, shape (N,); values are float64, shape (N, width).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Base = Callable[[float], float]


@dataclass(frozen=True)
class State:
    """What the columns seen so far come to: m, l and O (shape (width,))."""

    running_max: float
    denominator: float
    numerator: Array

    @classmethod
    def empty(cls, width: int) -> State:
        """Before the first block."""
        return cls(-math.inf, 0.0, np.zeros(width))

    def average(self) -> Array:
        """O/l, shape (width,); NaN after nothing but −inf, as 0/0 is."""
        with np.errstate(invalid="ignore"):
            return self.numerator / self.denominator


@dataclass(frozen=True)
class Step:
    """The state after a block, and the factor c that rescaled the state before it."""

    block: int
    running_max: float
    factor: float
    denominator: float
    largest_numerator: float
    """max |O| over the width."""


def finite_base(running_max: float) -> float:
    """The m' of the exponents: the maximum, but 0 while that is −inf."""
    return 0.0 if running_max == -math.inf else running_max


def absorb(state: State, scores: Array, values: Array, base: Base = finite_base) -> tuple[State, float]:
    """The state after one more block of at least one score, and the factor c. ``base`` chooses m' in the exponents."""
    higher = max(state.running_max, float(scores.max()))
    at = base(higher)
    factor = float(np.exp(np.float64(state.running_max) - at))
    weights = np.exp(scores - at)
    denominator = factor * state.denominator + float(weights.sum())
    return State(higher, denominator, factor * state.numerator + weights @ values), factor


def merge(left: State, right: State) -> State:
    """The state of two disjoint sets of columns together: how programs that share a row join their results."""
    higher = max(left.running_max, right.running_max)
    at = finite_base(higher)
    of_left, of_right = (float(np.exp(side.running_max - at)) for side in (left, right))
    return State(
        higher,
        of_left * left.denominator + of_right * right.denominator,
        of_left * left.numerator + of_right * right.numerator,
    )


def online(
    scores: Array, values: Array, blocks: Iterable[slice], base: Base = finite_base
) -> tuple[State, tuple[Step, ...]]:
    """The state of the whole row after absorbing its ``blocks`` in the given order, and every step."""
    state, steps = State.empty(values.shape[1]), []
    for number, block in enumerate(blocks):
        state, factor = absorb(state, scores[block], values[block], base)
        largest = float(np.abs(state.numerator).max())
        steps.append(Step(number, state.running_max, factor, state.denominator, largest))
    return state, tuple(steps)


def blocks_of(length: int, size: int) -> tuple[slice, ...]:
    """``range(length)`` cut into blocks of ``size``; the last one may be shorter."""
    return tuple(slice(start, min(start + size, length)) for start in range(0, length, size))


def probabilities(scores: Array, state: State) -> Array:
    """The row's softmax, shape (N,), from the state of all of it: the second pass of a kernel."""
    with np.errstate(invalid="ignore"):
        return np.exp(scores - finite_base(state.running_max)) / state.denominator


def exact(scores: Array, values: Array) -> Array:
    """The softmax average by definition, shape (width,): the row at once, its sums rounded once (``math.fsum``).

    At least one score has to be finite.
    """
    weights = np.exp(scores - scores.max())
    return np.array([math.fsum(weights * column) for column in values.T]) / math.fsum(weights)
