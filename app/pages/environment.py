"""The Jinja environment: everything is escaped, and a name that is not there is an error."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app import VERSION
from app.pages import formats
from app.pages.markdown import statement_html
from graders.foreign_text import visible

_HERE = Path(__file__).parent
STATIC = _HERE / "static"

_FILTERS: tuple[Callable[..., str], ...] = (
    visible,
    formats.breakable,
    formats.points,
    formats.number,
    formats.duration,
    formats.moment,
    statement_html,
)


@cache
def environment() -> Environment:
    """The environment, one a process."""
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    for function in _FILTERS:
        made.filters[function.__name__] = function
    made.globals |= {"static": static_url, "version": VERSION}
    return made


@cache
def static_url(name: str) -> str:
    """The address of a static file, which changes with its content: no browser keeps an old one."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:12]}"
