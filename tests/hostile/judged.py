"""What a hostile submission's header promises, checked on its report: the same in both lanes.

Imports no web package, since the GPU lane's tests have none.
"""

from __future__ import annotations

import ast
import math

from graders.package import Package
from graders.report import Performance, PerformanceStatus, Report
from graders.verdict import Lane, Verdict
from graders.visibility import visible_report
from tests.hostile.corpus import Hostile
from tests.processes import named, wait_until

BETWEEN_CHECKS = 16
"""Hostile gradings after which a right kernel must still be accepted."""

NO_ADVANTAGE = 0.03
"""How far a submission's speed may be from its honest version's, beyond what the spreads of both explain."""

TIMED = ("16384x4096_fp32", "131072x256_bf16")
"""A shape of single calls and one of graphs."""

LEAKED = "Saw"
"""What a submission puts before the data of hinted and hidden cases, wherever it tries to pass them on."""

_MARK = "hostile-child"
"""What processes call themselves that try to survive."""

_DEATH_S = 2.0
"""How long they may take to die."""

_A_FEW_CASES = b"""
_kept = {}
for _case in CASES:
    _of_category = _kept.setdefault(_case.category, [])
    if len(_of_category) < (2 if _case.category == "basic" else 1) or _case.calls > 1:
        _of_category.append(_case)
CASES = tuple(_case for _of_category in _kept.values() for _case in _of_category)
"""
"""Two basic ones, one of each other category, and those of several calls."""


def reduced(package: Package) -> Package:
    """The package with a few of its cases and two of its timed shapes: what a trick needs to show itself."""
    cases, performance = (f"graders/{package.slug}/{name}.py" for name in ("cases", "performance"))
    fewer = f"\nSHAPES = tuple(_shape for _shape in SHAPES if _shape.name in {TIMED!r})\n".encode()
    changed = {cases: package.files[cases] + _A_FEW_CASES, performance: package.files[performance] + fewer}
    return Package(package.slug, package.files | changed)


def assert_withstood(hostile: Hostile, lane: Lane, report: Report) -> None:
    """The judge was not fooled, and nothing of the submission lives on."""
    assert report.verdict in hostile.expected_in(lane), report
    assert all(case.points == 0 for case in report.cases if case.verdict is not Verdict.ACCEPTED)
    if report.verdict is not Verdict.ACCEPTED:
        assert report.score < report.max_score
    if hostile.scores_nothing:
        assert report.score == 0
    assert LEAKED not in visible_report(report, staff=False).model_dump_json()
    wait_until(lambda: named(_MARK) == [], "what the submission started dies with it", _DEATH_S)


def assert_gained_nothing(hostile: Hostile, tricky: Performance, honest: Performance) -> None:
    """Its clock was not fooled: there is no number, or none above the honest version's."""
    assert tricky.status in hostile.clock, tricky
    if tricky.status is not PerformanceStatus.MEASURED:
        assert tricky.points == 0
        return
    assert honest.status is PerformanceStatus.MEASURED, honest
    assert tricky.ratio is not None
    assert honest.ratio is not None
    allowed = 1 + NO_ADVANTAGE + _half_width(tricky) + _half_width(honest)
    assert tricky.ratio / honest.ratio <= allowed, (tricky, honest)


def honest_version(hostile: Hostile) -> str:
    """The file's own kernel without the trick: its functions ``softmax_kernel`` and ``honest``."""
    functions = [node for node in ast.parse(hostile.source).body if isinstance(node, ast.FunctionDef)]
    own = {node.name: ast.unparse(node) for node in functions}
    imports = "import torch\nimport triton\nimport triton.language as tl"
    return "\n\n\n".join([imports, own["softmax_kernel"], own["honest"], "softmax = honest\n"])


def _half_width(performance: Performance) -> float:
    """Relative, at 95 %."""
    assert performance.ratio_ci is not None
    low, high = performance.ratio_ci
    return math.sqrt(high / low) - 1
