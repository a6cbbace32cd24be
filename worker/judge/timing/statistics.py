"""The ratio of two sets of round times, with its spread."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

_OUTLIER_MADS = 4.0
_MAD_TO_SIGMA = 1.4826
_Z95 = 1.96
_PLACE = 0.005
"""The same copy from another place in the device's memory differs by so much (docs/measurements.md)."""


def winsorised(values: Sequence[float]) -> list[float]:
    """The values with outliers drawn in to four robust standard deviations around the median."""
    middle, reach = statistics.median(values), _OUTLIER_MADS * _sigma(values)
    return [min(max(value, middle - reach), middle + reach) for value in values]


def log_ratio(reference_s: Sequence[float], candidate_s: Sequence[float]) -> tuple[float, float]:
    """``ln(reference / candidate)`` and its 95 % half-width, which is relative: 0.005 is half a per cent."""
    logs = [winsorised([math.log(value) for value in values]) for values in (reference_s, candidate_s)]
    means = [statistics.fmean(values) for values in logs]
    variances = [statistics.variance(values) / len(values) if len(values) > 1 else math.inf for values in logs]
    return means[0] - means[1], _Z95 * math.sqrt(sum(variances))


def lateness(candidate_s: Sequence[float], reference_s: Sequence[float]) -> list[float]:
    """Seconds to add to each of the candidate's rounds, of how long its outputs and the reference's took to be taken.

    What was not done at done comes back in the copies. So each round is charged with what its copies took beyond the
    usual, or credited: however a delay is spread over rounds, seconds and copies together are the same. The usual
    itself is charged for what it is above the reference's, beyond what chance (95 %) and place explain; how much chance
    explains says the reference's spread, because the candidate makes its own.
    """
    usual, expected = (statistics.fmean(winsorised(values)) for values in (candidate_s, reference_s))
    error = _sigma(reference_s) * math.sqrt(1 / len(candidate_s) + 1 / len(reference_s))
    charged = max(0.0, usual - expected - _PLACE * expected - _Z95 * error)
    return [seconds - usual + charged for seconds in candidate_s]


def relative_spread(values: Sequence[float]) -> float:
    """Half the distance between the 20th and the 80th percentile, over the median."""
    ordered = sorted(values)
    low, high = ordered[len(ordered) // 5], ordered[-1 - len(ordered) // 5]
    return (high - low) / 2 / statistics.median(ordered)


def _sigma(values: Sequence[float]) -> float:
    """A robust standard deviation."""
    middle = statistics.median(values)
    return _MAD_TO_SIGMA * statistics.median(abs(value - middle) for value in values)
