"""A worker that is told to stop, across the processes it consists of."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from typing import Any

import pytest

from app.settings import Settings
from app.store.engine import Store
from graders.report import Report
from tests import builders
from tests.worker.test_tasks import Bench
from worker.stopping import Stopping, WorkerStops
from worker.supervisor.supervisor import Cancelled


@pytest.fixture
def bench(store: Store, settings: Settings) -> Bench:
    return Bench(store, settings)


def test_patience_begins_when_it_is_told() -> None:
    patient, impatient = Stopping(600), Stopping(0)
    assert not any((patient.told, patient.overdue, impatient.told, impatient.overdue))
    for stopping in (patient, impatient):
        stopping.tell()
    assert patient.told
    assert not patient.overdue
    assert impatient.overdue


def test_a_process_that_was_forked_hears_it() -> None:
    stopping = Stopping(0)
    context = multiprocessing.get_context("fork")
    go, overdue = context.Event(), context.Value("b", False)

    def child() -> None:
        go.wait()
        overdue.value = stopping.overdue

    process = context.Process(target=child)
    process.start()
    stopping.tell()
    go.set()
    process.join()
    assert overdue.value


def test_a_process_that_is_killed_while_it_looks_keeps_nobody_from_telling() -> None:
    stopping = Stopping(0)

    def child() -> None:
        if hasattr(stopping._told_at, "get_lock"):
            stopping._told_at.get_lock().acquire()
        os.kill(os.getpid(), signal.SIGKILL)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    teller = threading.Thread(target=stopping.tell, daemon=True)
    teller.start()
    teller.join(10)
    assert not teller.is_alive()
    assert stopping.told


def test_a_worker_that_stops_hands_its_grading_on(bench: Bench) -> None:
    def judge(listener: Any) -> Report:
        assert not listener.cancelled()
        bench.stopping.tell()
        assert listener.cancelled()
        raise Cancelled

    bench.grade(judge)
    assert (bench.grading.state, bench.grading.faults, bench.grading.sent_at) == ("queued", [], None)


def test_a_worker_that_was_told_to_stop_begins_nothing(bench: Bench) -> None:
    bench.stopping.tell()
    with pytest.raises(WorkerStops):
        bench.grade(lambda _: builders.report())
    assert (bench.grading.state, bench.grading.attempt) == ("queued", 0)
