"""The GPU as NVML shows it: whose memory is whose, and the lock that goes by its name."""

from __future__ import annotations

import pytest
import torch

from graders.report import CaseResult
from graders.verdict import Lane, Verdict
from tests.gpu.conftest import CORPUS, Grade, Silent
from worker.supervisor.device_lock import DeviceLock, lock_for
from worker.supervisor.nvml import open_device

pytestmark = pytest.mark.gpu

GIB = 1 << 30
RIGHT = (CORPUS / "accepted/one_row_per_program.py").read_text()
HOLDING = "\nHELD = torch.empty({gib} << 30, dtype=torch.uint8, device='cuda')\n"


class Held(Exception):
    """The lock is another's."""


def give_up() -> None:
    raise Held


def test_memory_that_is_taken_shows() -> None:
    device = open_device()
    torch.zeros(1, device="cuda")
    before = device.use()
    held = torch.empty(2 * GIB, dtype=torch.uint8, device="cuda")
    after = device.use()
    assert after.total_bytes - before.total_bytes >= 2 * GIB
    assert held.nbytes == 2 * GIB


def test_arenas_larger_than_the_limit_are_no_fault_of_the_submission(grade: Grade) -> None:
    report = grade(RIGHT, device_memory_mib=1024)
    assert report.verdict is Verdict.ACCEPTED, [case.cause for case in report.cases if case.cause]


def test_what_the_limit_leaves_may_be_used(grade: Grade) -> None:
    report = grade(RIGHT + HOLDING.format(gib=6), device_memory_mib=8 * 1024)
    assert report.verdict is Verdict.ACCEPTED, [case.cause for case in report.cases if case.cause]


def test_more_than_the_limit_is_a_verdict_even_when_it_was_taken_on_import(grade: Grade) -> None:
    report = grade(RIGHT + HOLDING.format(gib=16) + "import time\ntime.sleep(1e6)\n", device_memory_mib=1024)
    assert report.verdict is Verdict.MEMORY_LIMIT
    assert report.cause is not None
    assert report.cause.key == "case.device_memory_limit"


def test_while_a_grading_runs_the_gpu_is_locked_by_its_name(grade: Grade) -> None:
    lock = lock_for(Lane.GPU, open_device())
    assert isinstance(lock, DeviceLock)
    assert "GPU-" in lock.path.name
    tried: list[bool] = []

    class Trying(Silent):
        def case(self, result: CaseResult) -> None:
            with pytest.raises(Held), lock.held(give_up):
                raise AssertionError("it is free")
            tried.append(True)

    report = grade(RIGHT, listener=Trying())
    assert len(tried) == len(report.cases)
    with lock.held(give_up):
        pass
