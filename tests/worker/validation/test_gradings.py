"""What a judge's own failure on a submission is told as."""

from __future__ import annotations

from graders.corpus import Example, Expectation
from graders.validation import Finding, FindingCode
from worker.validation.gradings import judge_failed

EXAMPLE = Example(
    "wrong_answer/a", "graders/tiny/submissions/wrong_answer/a.py", "", Expectation(frozenset(), frozenset())
)
OURS = 'File "/program/graders/diagnosis.py", line 82, in _predicts\n'
THEIRS = 'File "/scratch/packages/9d09e0084791f5862f/graders/tiny/misconceptions.py", line 22, in signed_sum\n'
REFERENCE = 'File "/scratch/packages/9d09e0084791f5862f/reference/tiny.py", line 7, in oracle\n'


def told(*frames: str) -> Finding:
    reason = "Traceback (most recent call last):\n" + "".join(frames) + "AttributeError: no attribute 'summe'\n"
    finding = judge_failed("tiny", EXAMPLE, reason)
    assert finding.code is FindingCode.JUDGE_FAILED
    assert (finding.submission, finding.params) == (EXAMPLE.name, {"reason": "AttributeError: no attribute 'summe'"})
    return finding


def test_a_failure_in_the_drills_code_is_told_with_its_line():
    assert told(OURS, THEIRS).place == "graders/tiny/misconceptions.py:22"
    assert told(OURS, REFERENCE, 'File "/torch/_ops.py", line 1, in call\n').place == "reference/tiny.py:7"


def test_a_failure_of_ours_is_told_with_the_submission():
    assert told(OURS).place == EXAMPLE.file


def test_a_judge_that_died_leaves_a_reason_too():
    assert judge_failed("tiny", EXAMPLE, "PeerGone: end of stream").params == {"reason": "PeerGone: end of stream"}
