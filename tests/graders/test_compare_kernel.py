"""The kernel that looks over outputs on a GPU and compare itself are of one mind."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.processes import unwatched


@pytest.fixture(scope="module")
def screened() -> dict[str, tuple[bool, bool]]:
    command = [sys.executable, "-m", "tests.graders.screened"]
    environment = unwatched() | {"TRITON_INTERPRET": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_it_finds_something_wrong_where_compare_does(screened: dict[str, tuple[bool, bool]]):
    assert {name: pair for name, pair in screened.items() if pair[0] != pair[1]} == {}


def test_there_are_right_and_wrong_ones_among_them(screened: dict[str, tuple[bool, bool]]):
    wrong = sum(found for _, found in screened.values())
    assert 40 < wrong < len(screened) - 20
