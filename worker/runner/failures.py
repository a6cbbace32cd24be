"""An exception of the submission as data: its type, its text, and the line of the submission it came from."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import torch
from triton.compiler.errors import CompilationError
from triton.runtime import interpreter as triton_interpreter
from triton.runtime.errors import InterpreterError

MESSAGE_CHARACTERS = 2000


def plain(text: str, characters: int) -> str:
    """``text``, clipped, without what is no Unicode: a lone surrogate would make the whole message malformed."""
    return text[:characters].encode("utf-8", "replace").decode("utf-8")


def describe(error: BaseException, submission: Path) -> dict[str, Any]:
    """The failure message for ``error``. ``line`` counts from 1 in the submission, or is None."""
    if isinstance(error, CompilationError):
        return _kernel_failure(error, submission)
    root = _root(error)
    return {
        "kind": _kind(error),
        "exception": plain(type(root).__name__, 100),
        "message": plain(str(root), MESSAGE_CHARACTERS),
        "line": _line(root, submission) or _line(error, submission),
    }


def _kind(error: BaseException) -> str:
    if isinstance(error, InterpreterError) and _passed_through(error, triton_interpreter.__file__):
        return "interpreter"
    if isinstance(error, torch.OutOfMemoryError):
        return "device_memory"
    if isinstance(error, torch.AcceleratorError):
        return "device"
    return "exception"


def _passed_through(error: BaseException, file: str | None) -> bool:
    """Whether the exception came out of that file's code, not out of host code that raises the same type."""
    return any(frame.filename == file for frame in traceback.extract_tb(error.__traceback__))


def _root(error: BaseException) -> BaseException:
    """What a kernel raised, out of the interpreter's wrapping."""
    while isinstance(error, InterpreterError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _line(error: BaseException, submission: Path) -> int | None:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(submission)]
    return lines[-1] if lines else None


def _kernel_failure(error: CompilationError, submission: Path) -> dict[str, Any]:
    """What the GPU compiler refused. The innermost of a chain names the student's line best."""
    innermost = error
    while isinstance(innermost.__cause__, CompilationError):
        innermost = innermost.__cause__
    text = innermost.error_message or (str(innermost.__cause__) if innermost.__cause__ else str(innermost))
    return {
        "kind": "kernel",
        "exception": plain(type(innermost).__name__, 100),
        "message": plain(text, MESSAGE_CHARACTERS),
        "line": _kernel_line(innermost, submission),
    }


def _kernel_line(error: CompilationError, submission: Path) -> int | None:
    """Node positions count from the kernel's ``def``; the kernel is found again by its text."""
    lineno = getattr(error.node, "lineno", None)
    if lineno is None or not error.src:
        return None
    source = submission.read_text(encoding="utf-8")
    head = error.src.split("\n", 1)[0].strip()
    for number, line in enumerate(source.splitlines(), 1):
        if line.strip() == head:
            return number + int(lineno) - 1
    return None
