"""The doorbell between two threads that map the same page, as judge and runner do."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from worker.protocol.doorbell import MAX_ORDER, Doorbell


@pytest.fixture
def sides() -> Iterator[tuple[Doorbell, Doorbell]]:
    """The judge's side, and the runner's over a copy of its descriptor."""
    judge = Doorbell()
    runner = Doorbell(os.dup(judge.descriptor))
    yield judge, runner
    runner.close()
    judge.close()


def soon() -> float:
    return time.perf_counter() + 5


def test_every_ring_brings_its_order_and_its_answer(sides: tuple[Doorbell, Doorbell]) -> None:
    judge, runner = sides
    heard: list[tuple[list[int], bool]] = []

    def serve() -> None:
        while (asked := runner.wait())[0]:
            heard.append(asked)
            runner.answer()

    thread = threading.Thread(target=serve)
    thread.start()
    for order, graphs in (([3, 1, 2], False), ([0], True), (list(range(MAX_ORDER)), False)):
        judge.set(order, graphs=graphs)
        judge.ring()
        assert judge.answered(soon())
        assert heard[-1] == (order, graphs)
    judge.set([], graphs=False)
    judge.ring()
    thread.join(5)
    assert not thread.is_alive(), "a ring for no call ends the rounds"


def test_the_answer_to_the_last_round_is_none_to_this_one(sides: tuple[Doorbell, Doorbell]) -> None:
    judge, runner = sides
    judge.set([1], graphs=False)
    judge.ring()
    runner.wait()
    runner.answer()
    assert judge.answered(soon())
    judge.set([1], graphs=False)
    judge.ring()
    runner.answer()
    assert not judge.answered(time.perf_counter() + 0.01)


def test_an_order_that_does_not_fit_is_refused(sides: tuple[Doorbell, Doorbell]) -> None:
    with pytest.raises(ValueError, match="longer than"):
        sides[0].set([0] * (MAX_ORDER + 1), graphs=False)


def test_a_count_that_somebody_forged_reads_no_further_than_the_page(sides: tuple[Doorbell, Doorbell]) -> None:
    judge, runner = sides
    judge.set([1], graphs=False)
    runner._words[3] = 1 << 40
    judge.ring()
    assert len(runner.wait()[0]) == MAX_ORDER


def test_the_page_cannot_be_shrunk_under_the_judge(sides: tuple[Doorbell, Doorbell]) -> None:
    with pytest.raises(PermissionError):
        os.ftruncate(sides[1].descriptor, 0)
