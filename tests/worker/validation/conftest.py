"""What the tests of validation share: a real judge's place, and a watcher that keeps what it hears."""

from __future__ import annotations

import pytest

from worker.supervisor.lane import Post, choose_post
from worker.supervisor.sandbox_choice import OFF


class Watched:
    """Keeps what it hears; stops when it is told to."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.through: list[tuple[str, str]] = []
        self.counts: list[tuple[int, int]] = []
        self.stop_at: str | None = None

    def stage(self, name: str) -> None:
        self.stages.append(name)

    def graded(self, name: str, verdict: str, done: int, total: int) -> None:
        self.through.append((name, verdict))
        self.counts.append((done, total))

    def cancelled(self) -> bool:
        return self.stop_at is not None and self.stop_at in self.stages


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture(scope="session")
def post() -> Post:
    """The interpreter lane behind the real sandbox."""
    chosen = choose_post("interpreter", "auto")
    assert chosen.sandbox is not OFF
    return chosen
