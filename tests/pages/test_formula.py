"""Formulas as MathML; whatever is no formula stays text, and never becomes markup of the page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from app.pages.formula import formula_html
from app.pages.markdown import statement_html

STATEMENTS = sorted((Path(__file__).parents[2] / "graders").glob("*/statement.*.md"))


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [name for name, _ in attrs]))


@pytest.mark.parametrize("path", STATEMENTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_formula_of_the_drills_that_ship_is_shown_as_one(path: Path) -> None:
    page = statement_html(path.read_text("utf-8"))
    formulas = re.findall(r'class="math (?:inline|block)">\s*<(\w+)', page)
    assert set(formulas) == {"math"}


def test_a_fraction_and_an_index() -> None:
    page = formula_html(r"y_j = \frac{1}{l}", block=True)
    assert page.startswith('<math display="block"><mrow><msub><mi>y</mi><mi>j</mi></msub>')
    assert "<mfrac><mrow><mn>1</mn></mrow><mrow><mi>l</mi></mrow></mfrac>" in page


@pytest.mark.parametrize(
    "tex",
    [
        r"\frac{",
        r"x^{" * 200,
        "{" * 5000,
        r"\unknown x",
        r"\begin{aligned} a & b \end{aligned}",
        r"\text{<img src=x onerror=alert(1)>}",
        r"\text{<img src='x'/>}",
        r"\text{<script>alert(1)</script>}",
    ],
)
def test_what_cannot_be_shown_as_a_formula_stays_its_source(tex: str) -> None:
    page = formula_html(tex, block=False)
    assert Elements(page).found == [("code", [])]


@pytest.mark.parametrize(
    "tex",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\style{color:red}{x}",
        r"\class{banner}{x}",
        r"\text{<!--><img src='x'/>-->}",
        r"\text{<mi onclick='x'>y</mi>}",
        "<script>alert(1)</script>",
    ],
)
def test_nothing_but_mathml_comes_through(tex: str) -> None:
    found = Elements(formula_html(tex, block=False)).found
    assert {tag for tag, _ in found} <= {"math", "mrow", "mi", "mo", "mn", "mtext", "mstyle", "code"}
    assert {name for _, names in found for name in names} <= {"display", "stretchy", "mathvariant"}
