"""Points add up, whatever is skipped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders.manifest import Manifest, ManifestError, parse_manifest
from graders.report import CaseResult, Cause
from graders.scoring import add_up, category_results, share_points, total
from graders.verdict import CaseStatus, Verdict, Visibility

MANIFEST_TEXT = """
format = 1
slug = "x"
title = { en = "t", zh = "标" }
summary = { en = "s", zh = "述" }
entry_point = { name = "f", inputs = ["x"], outputs = ["out"] }
tolerance = { policy = "one_rounding", relative = 2e-5, reason = "r" }
operations = { allowed = [] }
categories = [
  { name = "basic", points = 6, visibility = "public", title = { en = "b", zh = "基" } },
  { name = "lengths", points = 8, visibility = "hinted", title = { en = "l", zh = "长" } },
]
"""


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return parse_manifest(MANIFEST_TEXT)


def result(category: str, status: CaseStatus, maximum: float) -> CaseResult:
    verdicts = {CaseStatus.PASSED: Verdict.ACCEPTED, CaseStatus.SKIPPED: None}
    return CaseResult(
        ordinal=1,
        name="n",
        category=category,
        visibility=Visibility.PUBLIC,
        status=status,
        verdict=verdicts.get(status, Verdict.WRONG_ANSWER),
        points=maximum if status is CaseStatus.PASSED else 0,
        max_points=maximum,
        cause=None if status is CaseStatus.PASSED else Cause(key="case.wrong"),
    )


@given(basic=st.integers(1, 40), lengths=st.integers(1, 40))
def test_shares_add_up_to_the_categorys_points(basic: int, lengths: int):
    manifest = parse_manifest(MANIFEST_TEXT)
    shares = share_points(manifest, ["basic"] * basic + ["lengths"] * lengths)
    assert add_up(shares[:basic]) == 6
    assert add_up(shares[basic:]) == 8
    assert max(shares[:basic]) - min(shares[:basic]) <= 1.01e-4


def test_an_unknown_category_is_refused(manifest: Manifest):
    with pytest.raises(ManifestError, match="no category 'speed'"):
        share_points(manifest, ["speed"])


def test_a_category_without_a_judged_case_leaves_the_maximum(manifest: Manifest):
    cases = [
        result("basic", CaseStatus.PASSED, 2.0),
        result("basic", CaseStatus.PASSED, 2.0),
        result("basic", CaseStatus.FAILED, 2.0),
        result("lengths", CaseStatus.SKIPPED, 0.0),
    ]
    basic, lengths = category_results(manifest, cases)
    assert (basic.points, basic.max_points, basic.passed, basic.judged, basic.skipped) == (4.0, 6.0, 2, 3, 0)
    assert (lengths.points, lengths.max_points, lengths.judged, lengths.skipped) == (0.0, 0.0, 0, 1)
    assert total([basic, lengths]) == (4.0, 6.0)


def test_thirds_add_up_exactly():
    assert add_up([2.6667, 2.6667, 2.6666]) == 8
    assert add_up([0.1] * 10) == 1
