"""TOML files as they come: what cannot be read is one kind of error, and where something is written is found again."""

from __future__ import annotations

import re
import tomllib
from itertools import zip_longest
from typing import Any

Location = tuple[int | str, ...]
"""Keys and, in arrays, positions from 0, as pydantic gives them."""


def read_toml(text: str) -> dict[str, Any]:
    """As ``tomllib.loads``. Raises TOMLDecodeError, also for what is nested too deeply and for endless numbers."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from error
    except ValueError as error:
        if isinstance(error, tomllib.TOMLDecodeError):
            raise
        raise tomllib.TOMLDecodeError(str(error)) from error


def error_line(error: tomllib.TOMLDecodeError) -> int | None:
    """The line that the message of a syntax error names."""
    found = re.search(r"at line (\d+)", str(error))
    return int(found[1]) if found else None


def line_of(text: str, location: Location) -> int | None:
    """The line of what is at ``location``, as far as names in their order tell.

    For a key that is missing, the line of the table that lacks it.
    """
    lines = text.splitlines()
    everywhere = range(1, len(lines) + 1)
    found, region, name = None, everywhere, ""
    for part, following in zip_longest(location, location[1:]):
        name = part if isinstance(part, str) else name
        matching = [number for number in region if re.search(_pattern(part, name), lines[number - 1])]
        wanted = part if isinstance(part, int) else 0
        if wanted >= len(matching):
            break
        found = matching[wanted]
        region = everywhere if isinstance(following, int) else _table(lines, found)
    return found


def _pattern(part: int | str, name: str) -> str:
    """A key, or the header of an entry of the array of tables ``name``."""
    escaped = re.escape(name)
    return rf"(?<![\w-]){escaped}(?![\w-])" if isinstance(part, str) else rf"^\s*\[\[\s*{escaped}\s*\]\]"


def _table(lines: list[str], start: int) -> range:
    """The lines of the table whose header is line ``start``; that line alone where it is no header."""
    if not lines[start - 1].lstrip().startswith("["):
        return range(start, start + 1)
    following = (number for number in range(start + 1, len(lines) + 1) if lines[number - 1].lstrip().startswith("["))
    return range(start, next(following, len(lines) + 1))
