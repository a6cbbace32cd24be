"""What ``warpgrade drill validate`` prints while it runs."""

from __future__ import annotations

import re

import pytest

from worker.validation.__main__ import _Progress


def test_progress_is_told_with_the_seconds_that_have_passed(capsys: pytest.CaptureFixture[str]) -> None:
    progress = _Progress()
    progress.stage("submissions")
    progress.graded("accepted/online", "accepted", 3, 70)
    progress.graded("accepted/other", "", 4, 70)
    lines = capsys.readouterr().err.splitlines()
    assert [re.sub(r"^ +\d\.\d s  ", "", line) for line in lines] == [
        "submissions…",
        "  3/70 accepted/online: accepted",
        "  4/70 accepted/other: the judge failed",
    ]
