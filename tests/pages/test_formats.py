"""Small things: numbers, durations, names, lines."""

from __future__ import annotations

import pytest

from app.pages import formats
from app.pages.source import annotated_lines


@pytest.mark.parametrize(("value", "text"), [(6.0, "6"), (2.6666, "2.67"), (0.5, "0.5"), (100, "100"), (0, "0")])
def test_points(value: float, text: str) -> None:
    assert formats.points(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.031, "0.03 ms"), (12.4, "12 ms"), (1250, "1.25 s")])
def test_durations(value: float, text: str) -> None:
    assert formats.duration(value) == text


def test_a_name_breaks_after_its_underscores() -> None:
    assert formats.breakable("a_<b>_c") == "a_<wbr>&lt;b&gt;_<wbr>c"


@pytest.mark.parametrize(
    ("source", "lines"),
    [("a\nb\n", ["a", "b"]), ("a\r\nb", ["a", "b"]), ("a\x0cb\u2028c", ["a\x0cb\u2028c"]), ("\n", [""]), ("", [""])],
)
def test_lines_are_counted_as_python_does(source: str, lines: list[str]) -> None:
    assert [line.text for line in annotated_lines(source, [])] == lines
