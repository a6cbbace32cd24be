"""What changed between two texts, line by line."""

from __future__ import annotations

import difflib

MOST_LINES = 2000
"""Longer texts are not compared: the time grows with more than the square of their lines."""


def line_diff(before: str, after: str, before_name: str, after_name: str) -> str | None:
    """A unified diff, empty if nothing changed, or None where a text has more than ``MOST_LINES`` lines."""
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > MOST_LINES:
        return None
    return "\n".join(difflib.unified_diff(old, new, before_name, after_name, lineterm=""))
