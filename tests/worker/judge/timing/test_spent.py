"""What a measurement spent its time on is added up, part by part."""

from __future__ import annotations

import pytest

from worker.judge.timing.spent import Spent


def test_parts_are_added_up() -> None:
    spent = Spent()
    for part, seconds in (("fill", 0.25), ("calls", 0.004), ("fill", 0.5)):
        spent.add(part, seconds)
    assert spent.milliseconds() == {"fill": 750.0, "calls": 4.0}


def test_what_failed_took_time_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((10.0, 10.5))
    monkeypatch.setattr("worker.judge.timing.spent.time.perf_counter", lambda: next(clock))
    spent = Spent()
    with pytest.raises(ZeroDivisionError), spent.on("check"):
        raise ZeroDivisionError
    assert spent.milliseconds() == {"check": 500.0}
