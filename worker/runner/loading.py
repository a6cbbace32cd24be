"""From source text to the entry point."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODULE = "submission"


class Refused(Exception):
    """The source cannot be graded: ``failure`` says what and where."""

    def __init__(self, failure: dict[str, Any]) -> None:
        super().__init__(failure["kind"])
        self.failure = failure


def load_entry_point(source: str, path: Path, name: str, parameters: list[str]) -> Callable[..., Any]:
    """Write ``source`` to ``path`` (Triton reads kernels from their file), import it and return its function ``name``.

    Raises Refused for a syntax error, a missing entry point or a wrong signature, and whatever the import raises.
    """
    path.write_text(source, encoding="utf-8")
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(_syntax_failure(error)) from None
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)
    return _entry_point(module, name, parameters)


def _entry_point(module: object, name: str, parameters: list[str]) -> Callable[..., Any]:
    if not hasattr(module, name):
        raise Refused({"kind": "missing_entry", "name": name})
    function = getattr(module, name)
    if not callable(function):
        raise Refused({"kind": "not_callable", "name": name})
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function  # type: ignore[no-any-return]
    try:
        signature.bind(*parameters)
    except TypeError:
        line = getattr(getattr(function, "__code__", None), "co_firstlineno", None)
        raise Refused({"kind": "signature", "name": name, "got": f"{name}{signature}"[:200], "line": line}) from None
    return function  # type: ignore[no-any-return]


def _syntax_failure(error: BaseException) -> dict[str, Any]:
    message = str(getattr(error, "msg", None) or error)[:500].encode("utf-8", "replace").decode("utf-8")
    failure: dict[str, Any] = {"kind": "syntax", "message": message}
    if isinstance(error, SyntaxError):
        failure |= {"line": error.lineno, "column": error.offset, "end_line": error.end_lineno}
    return failure
