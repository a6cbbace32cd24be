"""Real runners on standby."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator

import pytest

from graders.limits import Limits
from tests.container import in_tier
from worker.supervisor.runners import RunnerPool


@pytest.fixture(params=["A", "B"])
def pool(request: pytest.FixtureRequest) -> Iterator[RunnerPool]:
    with in_tier(request.param) as sandbox:
        pool = RunnerPool({"interpreter": 1}, sandbox=sandbox, limits=Limits())
        pool.fill()
        yield pool
        pool.close()


def test_a_pool_has_settled_when_its_runners_are_warm(pool: RunnerPool) -> None:
    pool.settle(60)
    runner = pool.take("interpreter")
    assert select.select([runner.socket], [], [], 0)[0] == [runner.socket], "it has said that it is ready"
    runner.handed_over()
    runner.kill()


def test_a_runner_that_went_is_not_waited_for(pool: RunnerPool) -> None:
    pool._standby["interpreter"][0].kill()
    began = time.monotonic()
    pool.settle(60)
    assert time.monotonic() - began < 60


def test_what_does_not_come_is_waited_for_no_longer_than_told(pool: RunnerPool) -> None:
    pool._standby["interpreter"][0].process.pause()
    began = time.monotonic()
    pool.settle(0.1)
    assert time.monotonic() - began >= 0.1
