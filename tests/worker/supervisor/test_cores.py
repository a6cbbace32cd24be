from __future__ import annotations

import os
import subprocess

import pytest

from worker.supervisor import cores
from worker.supervisor.cores import choose_cores, pin


def test_the_contestants_share_no_core_with_anything_else_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 6, 7})
    monkeypatch.setattr(cores, "_siblings", lambda core: frozenset({core, core - 4}))
    chosen = choose_cores()
    assert chosen is not None
    assert chosen.contestants == {7}
    assert chosen.others == {0, 1, 2, 6}, "nor with what runs on its sibling"


def test_a_small_machine_has_none_to_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert choose_cores() is None


def test_a_process_is_moved_and_one_that_is_gone_is_passed_over() -> None:
    core = min(os.sched_getaffinity(0))
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        gone = subprocess.run(["true"], check=True)
        assert gone.returncode == 0
        pin([process.pid, 2**22 - 1], frozenset([core]))
        assert os.sched_getaffinity(process.pid) == {core}
        process.communicate()
