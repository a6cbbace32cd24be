"""PostgreSQL restarts while the service serves: meanwhile it says so, afterwards it goes on."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from app.gradings import service as gradings
from app.settings import Settings
from tests import builders
from tests.api.conftest import SAME_ORIGIN, resources_of
from tests.api.live import Follower, Live
from tests.databases import ON_POSTGRESQL, away
from tests.processes import wait_until

pytestmark = ON_POSTGRESQL

ORDER = {"drill": "toy", "source": builders.SOURCE}
SUBMISSIONS = "/api/v1/submissions"


def test_it_says_so_and_goes_on(local: TestClient, settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    key = SAME_ORIGIN | {"Idempotency-Key": "k"}
    assert local.post(SUBMISSIONS, json=ORDER).status_code == 202
    with away(settings):
        for answer in (
            local.get("/api/v1/me"),
            local.get("/api/v1/drills"),
            local.post(SUBMISSIONS, json=ORDER, headers=key),
            local.get(f"{SUBMISSIONS}/x/events"),
        ):
            assert (answer.status_code, answer.json()["type"]) == (503, "/problems/database-away")
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert answer.headers["Retry-After"] == "5"
        page = local.get("/drills/toy", headers={"Accept": "text/html", "Accept-Language": "zh"})
        assert page.status_code == 503
        assert "数据库暂时没有响应" in page.text
        assert local.get("/health").json()["database"] == "down"
        assert local.get("/ready").status_code == 503
    assert local.post(SUBMISSIONS, json=ORDER, headers=key).json()["queue_position"] == 2
    assert local.get("/health").json()["database"] == "up"
    assert builders.SOURCE not in caplog.text


def test_a_connection_that_breaks_in_the_middle_is_a_503_too(local: TestClient, settings: Settings) -> None:
    store = resources_of(local).store

    @local.app.get("/api/v1/broken")  # type: ignore[attr-defined]
    def broken() -> None:
        with store.transaction() as session:
            builders.add_user(session, "lost")
            with away(settings):
                builders.add_user(session, "never")

    assert local.get("/api/v1/broken").status_code == 503
    assert local.get(f"{SUBMISSIONS}?user=lost").json()["items"] == []


def test_a_stream_waits_for_it(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with Live(settings) as live:
        claim = live.claimed()
        follower = Follower(live.path(claim), live.ada)
        follower.wait_for(1)
        with away(settings):
            wait_until(lambda: "a stream waits for the database" in caplog.text, "the stream notices")
        with live.store.transaction() as session:
            gradings.finish(session, claim, builders.report())
        follower.wait_for_end()
        assert follower.told == [(1, "state"), (2, "done")]
