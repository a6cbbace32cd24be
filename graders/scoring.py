"""Points: a category's are shared by the cases that could be judged, and sum up exactly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from graders.manifest import Manifest
from graders.report import CaseResult, CategoryResult
from graders.verdict import CaseStatus

UNITS = 10_000
"""Points are counted in ten-thousandths."""


def share_points(manifest: Manifest, categories: Sequence[str]) -> tuple[float, ...]:
    """The maximum of each judged case, in the order given; ``categories`` names each one's category.

    A category's points are shared equally among its judged cases; what does not divide goes to the first of
    them, so that the shares add up to the category's points. Raises ManifestError for an unknown category.
    """
    judged, met = Counter(categories), Counter[str]()
    shares = []
    for name in categories:
        share, rest = divmod(round(manifest.category(name).points * UNITS), judged[name])
        shares.append((share + (met[name] < rest)) / UNITS)
        met[name] += 1
    return tuple(shares)


def performance_points(ratios: Sequence[float], maximum: float) -> float:
    """Points for the ratios reference time / submission's time, one a shape.

    ``maximum · clip((g - 0.4) / 0.55, 0, 1)`` with g the geometric mean of the ratios, each clipped to [0.05, 1.25]:
    95 % of the reference's speed earns all, 40 % nothing, and no single shape can pay for the others.
    """
    logs = [math.log(min(max(ratio, 0.05), 1.25)) for ratio in ratios]
    mean = math.exp(sum(logs) / len(logs))
    return round(maximum * min(max((mean - 0.4) / 0.55, 0.0), 1.0) * UNITS) / UNITS


def add_up(points: Sequence[float]) -> float:
    """The sum, exact to a unit."""
    return sum(round(value * UNITS) for value in points) / UNITS


def category_results(manifest: Manifest, cases: Sequence[CaseResult]) -> list[CategoryResult]:
    """Each category's sum, in the manifest's order. A category of which no case was judged has maximum 0."""
    results = []
    for category in manifest.categories:
        own = [case for case in cases if case.category == category.name]
        skipped = sum(case.status is CaseStatus.SKIPPED for case in own)
        results.append(
            CategoryResult(
                name=category.name,
                visibility=category.visibility,
                points=add_up([case.points for case in own]),
                max_points=add_up([case.max_points for case in own]),
                passed=sum(case.status is CaseStatus.PASSED for case in own),
                judged=len(own) - skipped,
                skipped=skipped,
            )
        )
    return results


def total(categories: Sequence[CategoryResult]) -> tuple[float, float]:
    """Score and highest score of the correctness part."""
    return add_up([each.points for each in categories]), add_up([each.max_points for each in categories])
