"""TeX as MathML, which browsers show by themselves: no script, no fonts, nothing that the pages' policy forbids.

The converter lets markup in a text through, and commands that it does not know as their names. So only elements and
attributes of MathML are taken from what it makes; with anything else in it the formula stays as its source.
"""

from __future__ import annotations

import html
from xml.etree import ElementTree

from latex2mathml.converter import convert

_NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
_ELEMENTS = frozenset(
    (
        *("math", "mrow", "mi", "mo", "mn", "mtext", "mspace", "mstyle", "mpadded", "mphantom"),
        *("mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder", "mover", "munderover"),
        *("mtable", "mtr", "mtd"),
    )
)
_ATTRIBUTES = frozenset(
    (
        *("display", "displaystyle", "scriptlevel", "mathvariant", "linethickness"),
        *("stretchy", "fence", "separator", "form", "largeop", "movablelimits", "accent", "accentunder"),
        *("width", "height", "depth", "voffset", "lspace", "rspace", "minsize", "maxsize"),
        *("columnalign", "columnspacing", "rowspacing"),
    )
)
_LEAKED = frozenset("\\&")
"""What stands in a formula's text only where a command was not understood."""


def formula_html(tex: str, *, block: bool) -> str:
    """A formula as MathML, or as its source where it cannot be."""
    try:
        root = ElementTree.fromstring(convert(tex, display="block" if block else "inline"))  # noqa: S314
    except Exception:
        root = None  # every mistake in the TeX has an exception of its own, and markup in it is no XML
    if root is None or not all(_fit(element) for element in root.iter()):
        return f"<code>{html.escape(tex.strip())}</code>"
    return ElementTree.tostring(root, encoding="unicode", method="html")


def _fit(element: ElementTree.Element) -> bool:
    """Make an element one of HTML's, without what is not MathML's. False where it is none, or has what leaked."""
    element.tag = element.tag.removeprefix(_NAMESPACE)
    for name in set(element.attrib) - _ATTRIBUTES:
        del element.attrib[name]
    return element.tag in _ELEMENTS and not _LEAKED & {*(element.text or ""), *(element.tail or "")}
