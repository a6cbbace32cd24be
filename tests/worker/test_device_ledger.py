"""What the judge writes is what the supervisor reads, and never something in between."""

from __future__ import annotations

import os
import subprocess
import sys

import torch

from worker.device_ledger import DeviceLedger, Held
from worker.judge.device_share import DeviceShare

WRITER = """
import sys
from worker.device_ledger import DeviceLedger
ledger = DeviceLedger(int(sys.argv[1]))
number = 0
while True:
    ledger.waiting(number, number, number)
    number += 1
    ledger.working()
"""


def test_a_new_ledger_says_that_the_judge_works() -> None:
    assert DeviceLedger().held() is None


def test_the_other_end_reads_what_was_written() -> None:
    ours = DeviceLedger()
    theirs = DeviceLedger(os.dup(ours.descriptor))
    theirs.waiting(5, 7, 11)
    assert ours.held() == Held(2, 5, 11)
    assert (ours.live_bytes, ours.made_bytes) == (7, 11)
    theirs.working()
    assert ours.held() is None
    assert ours.made_bytes == 11
    ours.handed_over()
    theirs.waiting(6, 7, 11)
    assert ours.held() == Held(4, 6, 11)


def test_waiting_again_is_another_moment() -> None:
    ledger = DeviceLedger()
    ledger.waiting(5, 7, 11)
    first = ledger.held()
    ledger.waiting(5, 7, 11)
    assert ledger.held() != first


def test_a_reader_never_sees_half_of_what_another_process_writes() -> None:
    ledger = DeviceLedger()
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(ledger.descriptor)], pass_fds=(ledger.descriptor,)
    ) as writer:
        seen: set[int] = set()
        while len(seen) < 200:
            held = ledger.held()
            if held is not None:
                assert held.private_bytes == held.made_bytes
                seen.add(held.private_bytes)
        writer.kill()


def test_a_share_stands_still_while_the_judge_waits_and_on_the_host_is_nothing() -> None:
    ledger = DeviceLedger()
    share = DeviceShare(ledger, torch.device("cpu"))
    with share.standing_still():
        held = ledger.held()
    assert held is not None
    assert (held.private_bytes, held.made_bytes) == (0, 0)
    assert ledger.held() is None
