"""The judge's sentences: both languages, one for everything that a report can say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import graders
from graders.catalogue import LOCALES, Catalogue, flatten, judge_catalogue
from graders.compare import Pattern
from graders.verdict import State, Verdict
from graders.visibility import NOT_COMPILED, RETOLD, SHOWN_PARAMS

HERE = Path(graders.__file__).parent
CATALOGUE = judge_catalogue()
KEYS = sorted(CATALOGUE.keys("en"))


def test_both_languages_have_the_same_keys():
    assert CATALOGUE.keys("en") == CATALOGUE.keys("zh")


@pytest.mark.parametrize("key", KEYS)
def test_both_languages_name_the_same_fields(key):
    assert CATALOGUE.fields(key, "en") == CATALOGUE.fields(key, "zh")


@pytest.mark.parametrize("key", KEYS)
def test_chinese_sentences_are_chinese(key):
    sentence = CATALOGUE.render(key, locale="zh")
    bare = re.sub(r"\{\w+\}", "", sentence).strip("：。 ")
    assert not bare or re.search(r"[一-鿿]", bare)


def test_every_state_and_verdict_has_a_name_and_a_sentence():
    needed = {f"state.{state}" for state in State}
    needed |= {f"{table}.{verdict}" for table in ("verdict", "verdict_name") for verdict in Verdict}
    needed |= {f"case.hidden.{verdict}" for verdict in Verdict if verdict is not Verdict.ACCEPTED}
    assert needed <= CATALOGUE.keys("en")


def test_every_pattern_that_compare_can_name_has_a_sentence():
    assert {f"pattern.{pattern}" for pattern in Pattern} == {key for key in KEYS if key.startswith("pattern.")}


def test_every_reason_to_skip_has_a_sentence():
    keys = set(re.findall(r'"(skip\.\w+)"', (HERE / "cases.py").read_text("utf-8")))
    assert keys == {key for key in KEYS if key.startswith("skip.")}


def test_render_puts_parameters_in_and_leaves_missing_ones_visible():
    assert CATALOGUE.render("case.time_limit", {"limit_s": 4}) == "This test did not finish within 4 s."
    assert "{limit_s}" in CATALOGUE.render("case.time_limit")
    assert CATALOGUE.render("no.such_key") == "no.such_key"


def test_a_parameter_cannot_reach_into_an_object():
    catalogue = Catalogue({locale: {"a.b": "{x.__class__}"} for locale in LOCALES})
    assert catalogue.render("a.b", {"x": 1}) == "{x.__class__}"


@pytest.mark.parametrize("form", ["{x:zz}", "{x:>999999999}", "{x!r}", "{x:{x:{x}}}"])
def test_how_a_sentence_wants_a_parameter_written_is_not_asked(form: str):
    """Drills that were let in before such sentences were refused are still told of."""
    catalogue = Catalogue({locale: {"a.b": f"{form}, {{{{y}}}}"} for locale in LOCALES})
    assert catalogue.render("a.b", {"x": "1"}) == "1, {y}"
    with pytest.raises(ValueError, match="a name alone"):
        catalogue.fields("a.b", "en")


def test_a_drill_cannot_replace_a_sentence_of_the_judge():
    files = dict.fromkeys(LOCALES, '[verdict]\naccepted = "mine"\n[misconception.mine]\ntitle = "t"')
    extended = CATALOGUE.extended(files)
    assert extended.render("verdict.accepted") == CATALOGUE.render("verdict.accepted")
    assert extended.render("misconception.mine.title") == "t"


def test_flatten_joins_tables_by_dots():
    assert flatten('[a.b]\nc = "x"\n[d]\ne = "y"') == {"a.b.c": "x", "d.e": "y"}


def test_what_is_said_of_a_hinted_case_needs_no_data():
    beyond = {
        key.removeprefix("case.")
        for key in KEYS
        if re.fullmatch(r"case\.\w+", key) and CATALOGUE.fields(key, "en") - SHOWN_PARAMS
    }
    assert beyond == RETOLD
    assert {key for key in KEYS if key.startswith("case.hinted.")} == {f"case.hinted.{name}" for name in RETOLD}
    assert all(CATALOGUE.fields(f"case.hinted.{name}", "en") <= SHOWN_PARAMS for name in RETOLD)
    withheld = {key for key in KEYS if key.startswith("case.withheld.")}
    assert all(CATALOGUE.fields(key, "en") <= SHOWN_PARAMS - {"exception"} for key in withheld)
    assert all(f"compile.{name}" in KEYS for name in NOT_COMPILED)
