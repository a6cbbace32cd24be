"""The ratio of two sets of round times, with its spread."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

_OUTLIER_MADS = 4.0
_MAD_TO_SIGMA = 1.4826
_Z95 = 1.96


def winsorised(values: Sequence[float]) -> list[float]:
    """The values with outliers drawn in to four robust standard deviations around the median."""
    middle = statistics.median(values)
    reach = _OUTLIER_MADS * _MAD_TO_SIGMA * statistics.median(abs(value - middle) for value in values)
    return [min(max(value, middle - reach), middle + reach) for value in values]


def log_ratio(reference_s: Sequence[float], candidate_s: Sequence[float]) -> tuple[float, float]:
    """``ln(reference / candidate)`` and its 95 % half-width, which is relative: 0.005 is half a per cent."""
    logs = [winsorised([math.log(value) for value in values]) for values in (reference_s, candidate_s)]
    means = [statistics.fmean(values) for values in logs]
    variances = [statistics.variance(values) / len(values) if len(values) > 1 else math.inf for values in logs]
    return means[0] - means[1], _Z95 * math.sqrt(sum(variances))


def relative_spread(values: Sequence[float]) -> float:
    """Half the distance between the 20th and the 80th percentile, over the median."""
    ordered = sorted(values)
    low, high = ordered[len(ordered) // 5], ordered[-1 - len(ordered) // 5]
    return (high - low) / 2 / statistics.median(ordered)
