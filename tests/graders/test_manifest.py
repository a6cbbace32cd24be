"""drill.toml: every way to get it wrong is named with its key, its line and, where there is one, what was meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graders.manifest import (
    MOST_PROBLEMS,
    ManifestError,
    ManifestProblem,
    ProblemKind,
    manifest_schema,
    parse_manifest,
)
from graders.package import built_in_drills

ROOT = Path(__file__).parents[2]
TEXT = """\
format = 1
slug = "tiny"

[title]
en = "t"
zh = "标"

[summary]
en = "s"
zh = "述"

[entry_point]
name = "double"
inputs = ["x"]
outputs = ["out"]

[tolerance]
policy = "one_rounding"
relative = 2e-5
reason = "r"

[operations]
allowed = []

[[categories]]
name = "basic"
points = 6
visibility = "public"
title = { en = "b", zh = "基" }

[[categories]]
name = "more"
points = 6
visibility = "hidden"
title = { en = "m", zh = "多" }
"""


def problem(old: str, new: str) -> ManifestProblem:
    assert old in TEXT
    with pytest.raises(ManifestError) as refused:
        parse_manifest(TEXT.replace(old, new))
    (found,) = refused.value.problems
    assert str(found) in str(refused.value)
    return found


def test_the_text_is_a_manifest():
    assert parse_manifest(TEXT).correctness_points == 12


@pytest.mark.parametrize(
    ("old", "new", "key", "near", "line"),
    [
        ("relative =", "relativ =", "tolerance.relativ", "relative", 19),
        ("slug", "tagss = []\nslug", "tagss", "tags", 2),
        ('"hidden"', '"hidden"\nvisibilty = "public"', "categories.1.visibilty", "visibility", 35),
        ("[operations]", "[limits.gpu]\ncase_seconds = 3\n[operations]", "limits.gpu.case_seconds", "case_s", 23),
        ("[operations]", "[colour]\n[operations]", "colour", None, 22),
        ('zh = "多"', 'zh = "多", e = ""', "categories.1.title.e", "en", 35),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_of_its_table(
    old: str, new: str, key: str, near: str | None, line: int
):
    problems = _problems(old, new)
    found = next(item for item in problems if item.kind is ProblemKind.UNKNOWN_KEY)
    assert (found.key, found.near, found.line) == (key, near, line)
    assert "unknown key" in str(found)
    assert near is None or f"did you mean '{near}'?" in str(found)


def _problems(old: str, new: str) -> tuple[ManifestProblem, ...]:
    assert old in TEXT
    with pytest.raises(ManifestError) as refused:
        parse_manifest(TEXT.replace(old, new))
    return refused.value.problems


@pytest.mark.parametrize(
    ("old", "new", "kind", "key", "line"),
    [
        ("format = 1", "format = 2", ProblemKind.FORMAT, "format", 1),
        (
            'points = 6\nvisibility = "hidden"',
            'points = 0\nvisibility = "hidden"',
            ProblemKind.VALUE,
            "categories.1.points",
            33,
        ),
        (
            'points = 6\nvisibility = "hidden"',
            'points = inf\nvisibility = "hidden"',
            ProblemKind.VALUE,
            "categories.1.points",
            33,
        ),
        ("[operations]", "[performance]\npoints = 1e308\n[operations]", ProblemKind.VALUE, "performance.points", 23),
        ("[operations]", "[limits.gpu]\ncase_s = inf\n[operations]", ProblemKind.VALUE, "limits.gpu.case_s", 23),
        ("[operations]", "[limits.gpu]\ntasks = 257\n[operations]", ProblemKind.VALUE, "limits.gpu.tasks", 23),
        ('inputs = ["x"]', 'inputs = ["x y; 1"]', ProblemKind.VALUE, "entry_point.inputs.0", 14),
        ('inputs = ["x"]', 'inputs = ["x", "out"]', ProblemKind.VALUE, "entry_point", 12),
        ('inputs = ["x"]', 'inputs = ["lambda"]', ProblemKind.VALUE, "entry_point", 12),
        ('name = "double"', 'name = "def"', ProblemKind.VALUE, "entry_point", 12),
        ("format = 1\n", "", ProblemKind.VALUE, "format", None),
        ('slug = "tiny"', 'slug = "Tiny"', ProblemKind.VALUE, "slug", 2),
        ('zh = "述"\n', "", ProblemKind.VALUE, "summary.zh", 8),
        ('name = "more"', 'name = "basic"', ProblemKind.VALUE, "drill.toml", None),
        ("[title]", "[title", ProblemKind.SYNTAX, "", 4),
    ],
)
def test_a_value_that_cannot_be_used_is_named(old: str, new: str, kind: ProblemKind, key: str, line: int | None):
    found = problem(old, new)
    assert (found.kind, found.key, found.line) == (kind, key, line)


def test_every_problem_is_told_at_once():
    with pytest.raises(ManifestError) as refused:
        parse_manifest(TEXT.replace("slug", "slag").replace("relative", "relativ"))
    assert {item.key for item in refused.value.problems} == {"slug", "slag", "tolerance.relative", "tolerance.relativ"}


NESTED, DIGITS = 3000, 6000
"""Deeper than Python recurses, and more digits than it makes a number of."""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("points = 6", f"points = {'[' * NESTED}{']' * NESTED}"),
        ("points = 6", f"points = {'9' * DIGITS}"),
        ("points = 6", f"points = 0x{'f' * DIGITS}"),
        ("format = 1", f"format = 0x{'f' * DIGITS}"),
        ("format = 1", f"format.{'a.' * NESTED}b = 1"),
        ("format = 1", f"format = '{'x' * DIGITS}'"),
        ("[title]", f"[title.{'a.' * NESTED}b]"),
        ("format = 1", f"format = 1\n{'x' * DIGITS} = 1"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_too_deep_or_too_long_is_a_problem_of_few_words(old: str, new: str):
    with pytest.raises(ManifestError) as refused:
        parse_manifest(TEXT.replace(old, new))
    assert refused.value.problems
    assert all(len(str(item)) < 1000 for item in refused.value.problems)


def test_no_more_problems_are_told_than_anybody_reads():
    with pytest.raises(ManifestError, match=r"; 1900 more$") as refused:
        parse_manifest("\n".join(f"k{number} = 1" for number in range(2000)) + "\n" + TEXT)
    assert len(refused.value.problems) == MOST_PROBLEMS


def test_the_schema_in_the_docs_is_current():
    """Write it anew with ``warpgrade drill schema > docs/drill.schema.json``."""
    assert json.loads((ROOT / "docs/drill.schema.json").read_text("utf-8")) == manifest_schema()


@pytest.mark.parametrize("slug", built_in_drills())
def test_built_in_drills_have_the_current_format(slug: str):
    assert parse_manifest((ROOT / "graders" / slug / "drill.toml").read_text("utf-8")).format == 1
