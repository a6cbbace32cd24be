"""Two languages: which one a page speaks, and that both say everything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.errors import PROBLEMS
from app.pages.environment import environment
from app.pages.instructor import REFUSED
from app.pages.texts import page_texts, problem_texts
from app.store.models import VersionState
from graders.catalogue import LOCALES, judge_catalogue
from graders.verdict import CaseStatus, State, Verdict, Visibility
from tests.pages.conftest import Site
from tests.pages.document import text_of

TEMPLATES = Path(str(environment().loader.searchpath[0]))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh-Hans"),
        ("en-GB,en;q=0.9,zh;q=0.8", "en"),
        ("fr, zh-TW;q=0.5", "zh-Hans"),
        ("en;q=0.1, ZH;q=0.2", "zh-Hans"),
        ("zh;q=0, en;q=0", "en"),
        ("zh;q=x, de", "en"),
        ("*", "en"),
    ],
)
def test_the_browser_is_asked_which_language(site: Site, accepted: str, language: str) -> None:
    page = site.get("/drills/toy", headers={"Accept-Language": accepted})
    assert page.root.get("lang") == language
    assert text_of(page.one("h1")) == {"en": "Toy", "zh-Hans": "玩具"}[language]


def test_a_choice_is_remembered_and_leads_back(site: Site) -> None:
    page = site.get("/submissions?drill=toy")
    assert page.one("form[@action='/language']/input").get("value") == "/submissions?drill=toy"
    answer = site.send("/language", data={"locale": "zh", "next": "/submissions?drill=toy"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/submissions?drill=toy")
    assert "我的提交" not in text_of(page.one("main"))
    assert text_of(site.get("/submissions", headers={"Accept-Language": "en"}).one("h1")) == "全部提交"
    site.post("/language", 422, data={"locale": "xx"})


def test_both_catalogues_say_the_same_things() -> None:
    texts = page_texts()
    assert texts.keys("en") == texts.keys("zh")
    for key in texts.keys("en"):
        assert texts.fields(key, "en") == texts.fields(key, "zh"), key


def test_every_text_that_a_template_names_is_there() -> None:
    named = set()
    for template in TEMPLATES.glob("*.html"):
        named |= set(re.findall(r"""\bt\(["']([a-z_.]+)["']""", template.read_text()))
    prefixes = {name for name in named if name.endswith(".")}
    assert named - prefixes <= page_texts().keys("en")


def test_every_word_for_a_value_is_there() -> None:
    values = {
        "verdict": Verdict,
        "state": State,
        "status": CaseStatus,
        "visibility": Visibility,
        "version": VersionState,
        "version_says": VersionState,
        "inst.refused": REFUSED,
    }
    for locale in LOCALES:
        for topic, kind in values.items():
            assert {f"{topic}.{value}" for value in kind} <= page_texts().keys(locale)


def test_every_problem_is_told_to_people_in_both_languages() -> None:
    for locale in LOCALES:
        texts = problem_texts(locale)
        assert texts.keys() == {f"{slug}.{part}" for slug in PROBLEMS for part in ("title", "help")}
        for slug, said in texts.items():
            for word in ("GET ", "POST ", "/api/", "'errors'", "'findings'", "'detail'", "header", "Retry-After"):
                assert word not in said, f"{slug} speaks to programs"


def test_one_thing_has_one_name() -> None:
    """A verdict is called the same by the pages and by the judge's own sentences."""
    for locale in LOCALES:
        for verdict in Verdict:
            name = judge_catalogue().render(f"verdict_name.{verdict}", {}, locale)
            assert page_texts().render(f"verdict.{verdict}", {}, locale) == name


def test_every_template_can_be_read() -> None:
    for name in environment().list_templates():
        environment().get_template(name)
