"""Who tries to gain on the clock gains nothing. Figures are for ``docs/measurements.md``, not for these tests."""

from __future__ import annotations

import pytest
import torch

from graders.package import Package
from graders.report import PerformanceStatus
from graders.verdict import Verdict
from tests.gpu.conftest import CORPUS, Grade, grade_with
from tests.reference.counted import CHECKS, counts, inputs
from worker.supervisor.supervisor import Supervisor

pytestmark = pytest.mark.gpu

REFERENCE = "reference/t2_softmax.py"
RIGHT = (CORPUS / "accepted/one_row_per_program.py").read_text()


@pytest.mark.parametrize("slug", CHECKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("rows", "columns"), [(64, 781), (3, 8320), (2, 131072)])
def test_the_fused_check_counts_what_oracle_and_policy_count(
    slug: str, dtype: torch.dtype, rows: int, columns: int
) -> None:
    for name, x in inputs(rows, columns, dtype).items():
        for kind, (told, counted) in counts(x.cuda(), slug).items():
            assert told == counted, f"{name}, {kind}"


def test_the_reference_against_itself_is_measured(supervisor: Supervisor, package: Package) -> None:
    files = package.files | {REFERENCE: package.files[REFERENCE] + b"\ndel timed_reference\n"}
    itself = Package(package.slug, files)
    report = grade_with(supervisor, itself, files[REFERENCE].decode(), {}, measure=True)
    assert report.verdict is Verdict.ACCEPTED
    performance = report.performance
    assert performance.status is PerformanceStatus.MEASURED, performance.reason
    assert len(performance.shapes) == 10
    assert performance.ratio is not None
    assert 0.9 < performance.ratio < 1.1, "far off would be a broken clock, not noise"
    assert report.score > 95


def test_a_wrong_answer_at_a_timed_shape_is_found(grade: Grade) -> None:
    lazy = (
        RIGHT
        + """
_right = softmax
def softmax(x, out):
    if 30_000_000 < x.shape[0] * x.shape[1] < 1_000_000_000:
        _right(x[: x.shape[0] // 2], out[: x.shape[0] // 2])
    else:
        _right(x, out)
"""
    )
    report = grade(lazy, measure=True)
    assert report.verdict is Verdict.WRONG_ANSWER
    assert report.cause is not None
    assert report.cause.key == "performance.wrong_output"
    assert report.score == 70, "what was right stays right"


def test_calls_that_cannot_be_captured_are_timed_one_by_one(grade: Grade) -> None:
    synchronising = (
        RIGHT
        + """
_right = softmax
def softmax(x, out):
    _right(x, out)
    torch.cuda.current_stream().synchronize()
"""
    )
    report = grade(synchronising, measure=True)
    assert report.verdict is Verdict.ACCEPTED
    assert report.performance.status is PerformanceStatus.MEASURED, report.performance.reason
