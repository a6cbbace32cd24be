"""The whole service on PostgreSQL: the worker is killed and the database restarts while it grades."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import Cluster, running_cluster
from tests.databases import POSTGRES
from tests.service.test_survival import QUICK, RIGHT, WRONG, Client, assert_ended_once
from tests.serving import Served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(POSTGRES is None, reason="no PostgreSQL is given: WARPGRADE_TEST_POSTGRES"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One of its own: it is stopped."""
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def served(cluster: Cluster, tmp_path: Path) -> Iterator[Served]:
    service = Served(tmp_path / "data", WARPGRADE_DATABASE_URL=cluster.url, **QUICK)
    yield service
    service.process.kill()
    service.process.wait()


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    client = Client(served.url)
    client.wait_for_worker()
    yield client
    client.close()


def test_whatever_is_lost_every_submission_ends_once(cluster: Cluster, served: Served, client: Client) -> None:
    right, wrong = client.submit(RIGHT), client.submit(WRONG)
    client.wait(right, "testing")
    os.kill(served.child("worker.main"), signal.SIGKILL)
    client.wait(right, "queued")
    client.wait(right, "testing")
    cluster.stop()
    answer = client.ask(right)
    assert (answer.status_code, answer.json()["type"]) == (503, "/problems/database-away")
    cluster.start()
    assert_ended_once(client, right, wrong)
    told = [kind for kind, _ in client.events(right)]
    assert told.count("restarted") == 1, "the worker's end cost an attempt, the database's did not"
    assert not (served.data / "warpgrade.db").exists()
