"""What changed between two texts."""

from __future__ import annotations

from app.line_diff import MOST_LINES, line_diff


def test_changed_lines_are_shown_among_their_neighbours() -> None:
    assert line_diff("a\nb\nc\n", "a\nB\nc\n", "#1", "#2") == "--- #1\n+++ #2\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"


def test_equal_texts_differ_in_nothing() -> None:
    assert line_diff("a\nb", "a\nb\n", "#1", "#2") == ""


def test_long_texts_are_not_compared() -> None:
    long = "a\n" * MOST_LINES
    assert line_diff(long, long, "#1", "#2") == ""
    assert line_diff(long + "a", "a", "#1", "#2") is None
    assert line_diff("a", long + "a", "#1", "#2") is None
