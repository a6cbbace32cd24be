"""A drill's code in a judge of its own: whatever it does ends in a finding, and nothing else is harmed."""

from __future__ import annotations

import pytest

from graders.validation import FindingCode
from tests.drills import CASES, REFERENCE, changed, small_drill
from worker.supervisor.lane import Post
from worker.supervisor.supervisor import Cancelled
from worker.validation import rehearsing
from worker.validation.rehearsing import rehearse

SMALL = small_drill(basic=("positive",))
HEAD = "import torch\n"


def wanted() -> None:
    """Go on."""


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(SMALL.files[CASES].decode().splitlines(), 1) if line == text.strip()) + 2


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("while True: pass", FindingCode.LOAD_TIME_LIMIT),
        ("hoard = [bytes(1 << 28) for _ in range(1000)]", FindingCode.LOAD_MEMORY_LIMIT),
        ("hoard = torch.ones(1 << 34)", FindingCode.LOAD_MEMORY_LIMIT),
    ],
)
def test_code_without_end_or_measure_is_told_its_line(post: Post, code: str, found: FindingCode):
    package = changed(SMALL, CASES, HEAD, f"{HEAD}\n{code}\n")
    (finding,) = rehearse(package, post, wanted, limit_s=6.0).findings
    assert (finding.code, finding.file, finding.line) == (found, CASES, line_of(HEAD))


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os\n\nos._exit(7)", "exit code 7"),
        ("import os\n\nos.kill(os.getpid(), 11)", "signal 11"),
    ],
)
def test_code_that_ends_the_judge_is_told_how(post: Post, code: str, reason: str):
    (finding,) = rehearse(changed(SMALL, REFERENCE, HEAD, f"{HEAD}\n{code}\n"), post, wanted).findings
    assert (finding.code, finding.params) == (FindingCode.LOAD_CRASHED, {"reason": reason})


def test_code_that_does_not_see_its_limit_is_ended(post: Post, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rehearsing, "SLACK_S", 0.5)
    deaf = "import signal\n\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\nwhile True: pass"
    (finding,) = rehearse(changed(SMALL, CASES, HEAD, f"{HEAD}\n{deaf}\n"), post, wanted, limit_s=2.0).findings
    assert (finding.code, finding.file) == (FindingCode.LOAD_TIME_LIMIT, None)


def test_a_right_drill_has_its_tests_weighed(post: Post):
    tested = rehearse(SMALL, post, wanted)
    assert tested.findings == []
    assert tested.memory_mib == {"basic/positive": 2 * 4 * 4 * 5 / 2**20}


def test_nobody_has_to_wait_for_it(post: Post):
    def unwanted() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        rehearse(SMALL, post, unwanted)
