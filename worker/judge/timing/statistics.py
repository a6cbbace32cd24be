"""The ratio of two sets of round times, with its spread."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

_OUTLIER_MADS = 4.0
_MAD_TO_SIGMA = 1.4826
_MEDIAN_TO_MEAN = 1.2533
"""Standard error of a median over that of a mean, for a normal distribution: sqrt(pi / 2)."""
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


def excess(candidate_s: Sequence[float], reference_s: Sequence[float]) -> float:
    """By how much the candidate's median is above the reference's, beyond what spread (95 %) and place explain."""
    usual = statistics.median(reference_s)
    errors = [_MEDIAN_TO_MEAN * _sigma(values) / math.sqrt(len(values)) for values in (candidate_s, reference_s)]
    explained = _PLACE * usual + _Z95 * math.hypot(*errors)
    return max(0.0, statistics.median(candidate_s) - usual - explained)


def relative_spread(values: Sequence[float]) -> float:
    """Half the distance between the 20th and the 80th percentile, over the median."""
    ordered = sorted(values)
    low, high = ordered[len(ordered) // 5], ordered[-1 - len(ordered) // 5]
    return (high - low) / 2 / statistics.median(ordered)


def _sigma(values: Sequence[float]) -> float:
    """A robust standard deviation."""
    middle = statistics.median(values)
    return _MAD_TO_SIGMA * statistics.median(abs(value - middle) for value in values)
