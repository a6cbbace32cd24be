"""Whatever a submission says, it does not tell a student what the hidden tests are."""

from __future__ import annotations

import pytest

from graders.report import Report
from graders.verdict import Verdict
from graders.visibility import visible_report
from tests.worker.conftest import Grade

HIDDEN = "1073741840"
"""A stride that only tests have which are not public."""

SEEING = """
import torch
import triton
import triton.language as tl

SEEN = []

@triton.jit
def told(x, MSG: tl.constexpr):
    tl.static_assert(False, MSG)
    tl.store(x, 0.0)

def softmax(x, out):
    SEEN.append(f"{tuple(x.shape)} {tuple(x.stride())}")
"""

WAYS = {
    "message": '    if "1073741840" in SEEN[-1]:\n        told[(1,)](out, "; ".join(SEEN))\n',
    "message_later": '    if len(SEEN) > 28:\n        told[(1,)](out, "; ".join(SEEN))\n',
    "kernel_name": '    if "1073741840" in SEEN[-1]:\n        told.fn.__name__ = told.__name__ = "k1073741840"\n'
    '        told[(1,)](out, "")\n',
    "output": '    print("; ".join(SEEN), flush=True)\n',
    "exception": '    if "1073741840" in SEEN[-1]:\n        raise RuntimeError("; ".join(SEEN))\n',
}


def as_student(report: Report) -> str:
    return visible_report(report, staff=False).model_dump_json()


@pytest.mark.parametrize("way", WAYS)
def test_no_text_of_a_submission_carries_a_hidden_shape(grade: Grade, way: str) -> None:
    report = grade(SEEING + WAYS[way])
    assert report.verdict is not Verdict.JUDGE_ERROR
    assert HIDDEN not in as_student(report)


def test_staff_see_what_was_withheld(grade: Grade) -> None:
    report = grade(SEEING + WAYS["message"])
    assert report.verdict is Verdict.COMPILE_ERROR
    assert HIDDEN in report.model_dump_json()
    shown = visible_report(report, staff=False)
    assert shown.cause is not None
    assert shown.cause.key == "case.withheld.compile"
    assert [annotation.params.keys() - {"line", "exception"} for annotation in shown.annotations] == [set()]


def test_a_compiler_message_of_a_public_test_is_told_whole(grade: Grade) -> None:
    report = grade(SEEING + '    told[(1,)](out, "use smaller blocks")\n')
    assert report.verdict is Verdict.COMPILE_ERROR
    assert "use smaller blocks" in as_student(report)


def test_kernels_that_only_hidden_tests_launch_are_not_listed(grade: Grade) -> None:
    by_length = """
import torch
import triton
import triton.language as tl

@triton.jit
def short_rows(x, out, N, B: tl.constexpr):
    tl.store(out + tl.arange(0, B), 0.0, mask=tl.arange(0, B) < N)

@triton.jit
def long_rows(x, out, N, B: tl.constexpr):
    tl.store(out + tl.arange(0, B), 1.0, mask=tl.arange(0, B) < N)

def softmax(x, out):
    kernel = long_rows if x.shape[1] > 1000 else short_rows
    kernel[(1,)](x, out, x.shape[1], B=1024)
"""
    names = {kernel.name for kernel in visible_report(grade(by_length), staff=False).kernels}
    assert names == {"short_rows"}
