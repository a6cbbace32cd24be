"""Statements: Markdown without raw HTML, as HTML that fits into a page.

The page has the one ``h1``, so a statement's own title is left out and its other headings start at ``h2``. Formulas
stand in elements of class ``math``. There are no inline styles, which the pages' policy forbids.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

from app.pages.formula import formula_html

_HEADING_TOKENS = 3  # open, text, close


@lru_cache(maxsize=64)
def statement_html(text: str) -> Markup:
    """A statement as HTML."""
    markdown = _markdown()
    tokens = _without_title(markdown.parse(text))
    for token in tokens:
        _fit(token)
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704 - raw HTML is off


@cache
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    dollarmath_plugin(
        markdown,
        allow_labels=False,
        allow_space=False,
        allow_digits=False,
        renderer=lambda tex, options: formula_html(tex, block=options["display_mode"]),
    )
    markdown.add_render_rule("table_open", lambda *_: '<div class="scroll"><table>\n')
    markdown.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return markdown


def _without_title(tokens: Sequence[Token]) -> list[Token]:
    titled = bool(tokens) and (tokens[0].type, tokens[0].tag) == ("heading_open", "h1")
    return list(tokens[_HEADING_TOKENS:] if titled else tokens)


def _fit(token: Token) -> None:
    if token.tag == "h1":
        token.tag = "h2"
    if token.type == "th_open":
        token.attrSet("scope", "col")
    style = token.attrs.pop("style", None)
    if style is not None:
        token.attrSet("class", str(style).replace("text-align:", "align-"))
