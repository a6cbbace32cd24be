"""The process that runs the tasks, when what it needs cannot be had at first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from celery.exceptions import Reject

from app.settings import Settings
from app.store.engine import Store
from app.store.models import Grading
from graders.verdict import Lane
from tests import builders
from tests.worker.test_tasks import Played
from worker import main
from worker.main import TaskProcess
from worker.stopping import Stopping
from worker.supervisor.lane import Post
from worker.supervisor.sandbox_choice import OFF


class Stubborn(Played):
    """A supervisor that starts when it has been tried often enough."""

    failures = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__(lambda _: builders.report())
        self.closed = False
        made.append(self)

    def warm_up(self) -> None:
        if len(made) <= Stubborn.failures:
            raise OSError(28, "No space left on device")

    def close(self) -> None:
        self.closed = True


made: list[Stubborn] = []


class Process:
    """A task process that has started, for a submission that waits."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.stopping = store, Stopping(0)
        self.health = SimpleNamespace(value=True)
        with store.transaction() as session:
            builders.add_drill(session)
            self.grading_id = builders.add_submission(session, builders.add_user(session)).grading_id
        self.tasks = TaskProcess(settings, Post(Lane.INTERPRETER, OFF), "w", self.health, self.stopping)
        self.tasks.start()

    @property
    def state(self) -> str:
        with self.store.reading() as session:
            return session.get_one(Grading, self.grading_id).state


@pytest.fixture
def process(store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Process:
    made.clear()
    monkeypatch.setattr(main, "Supervisor", Stubborn)
    monkeypatch.setattr(Stubborn, "failures", 3)
    monkeypatch.setattr(main.ctypes, "CDLL", lambda _: SimpleNamespace(prctl=lambda *_: 0))
    return Process(store, settings)


def test_what_waits_is_graded_once_the_judge_can_be_had(
    process: Process, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rests: list[bool] = []
    monkeypatch.setattr(process.stopping, "rest", lambda _: rests.append(process.health.value))
    process.tasks.grade(process.grading_id)
    assert process.state == "done"
    assert rests == [False, False], "it says that it takes no work, and tries again after a rest"
    assert process.health.value, "the canary was right"
    assert [one.closed for one in made] == [True, True, True, False]
    assert "No space left on device" in caplog.text
    process.tasks.stop()
    assert made[-1].closed


def test_a_worker_that_stops_before_its_judge_can_be_had_passes_its_message_on(process: Process) -> None:
    process.stopping.tell()
    with pytest.raises(Reject):
        process.tasks.grade(process.grading_id)
    assert process.state == "queued"
