"""What a kernel can do to the GPU: the right verdict, and the next grading is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from graders.drill import load_drill
from graders.verdict import CaseStatus, Verdict
from tests.gpu.conftest import CORPUS, Grade

pytestmark = pytest.mark.gpu

RIGHT = (CORPUS / "accepted/one_row_per_program.py").read_text()
FAULTY = """
import torch, triton, triton.language as tl
{right}
calls = 0

@triton.jit
def wild(x):
    tl.store(x + tl.program_id(0).to(tl.int64) * 1000000000000, 1.0)

@triton.jit
def spin(x):
    while tl.load(x, volatile=True) == tl.load(x, volatile=True):
        tl.atomic_add(x, 1.0)

right = softmax

def softmax(x, out):
    global calls
    calls += 1
    if calls == {at}:
        fault(x, out)
    right(x, out)

def fault(x, out):
    {fault}
"""

FAULTS = {
    "illegal_address": ("wild[(64,)](torch.empty(1, device='cuda'))", Verdict.RUNTIME_ERROR, "case.device_fault"),
    "endless_kernel": ("spin[(1,)](torch.zeros(1, device='cuda'))", Verdict.TIME_LIMIT, "case.time_limit"),
    "device_memory": (
        "hog = [torch.empty(1 << 34, dtype=torch.uint8, device='cuda') for _ in range(64)]",
        Verdict.MEMORY_LIMIT,
        "case.device_memory",
    ),
    "exit": ("import os; os._exit(0)", Verdict.RUNTIME_ERROR, "case.exited"),
    "segfault": ("import ctypes; ctypes.string_at(0)", Verdict.RUNTIME_ERROR, "case.signal"),
    "endless_host": ("while True: pass", Verdict.TIME_LIMIT, "case.time_limit"),
}


@pytest.fixture(scope="module")
def compiled_calls() -> int:
    """How many calls the compile pass makes before the first test: one a case."""
    return len(load_drill(Path(__file__).parents[2], "t2_softmax").cases)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_its_case_and_the_next_grading_is_right(grade: Grade, name: str, compiled_calls: int) -> None:
    fault, verdict, key = FAULTS[name]
    report = grade(FAULTY.format(right=RIGHT, fault=fault, at=compiled_calls + 3))
    stricken = [case for case in report.cases if case.status is CaseStatus.ERROR]
    assert report.verdict is verdict, report.cause
    assert [case.cause.key for case in stricken if case.cause] == [key]
    assert all(case.status is CaseStatus.PASSED for case in report.cases[:2]), "the results so far are kept"
    assert grade(RIGHT).verdict is Verdict.ACCEPTED
