"""A worker that is told to stop, across the processes it consists of."""

from __future__ import annotations

import multiprocessing

from worker.stopping import Stopping


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
