"""Which function a message wants called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worker.runner.loading import load_entry_point
from worker.runner.session import function_of

SOURCE = """
def softmax(x, out):
    return "entry"

def timed_reference(x, out):
    return "timed"
"""


@pytest.fixture
def entry(tmp_path: Path) -> Callable[..., Any]:
    return load_entry_point(SOURCE, tmp_path / "submission.py", "softmax", ["x", "out"])


@pytest.mark.parametrize(
    ("message", "called"),
    [({}, "entry"), ({"function": None}, "entry"), ({"function": "timed_reference"}, "timed")],
)
def test_the_entry_point_or_what_the_message_names(
    entry: Callable[..., Any], message: dict[str, Any], called: str
) -> None:
    assert function_of(entry, message)(None, None) == called
