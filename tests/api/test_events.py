"""Following a submission over server-sent events, from a real server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx2 as httpx
import pytest
import uvicorn
from sqlalchemy import select

from app.access.principals import Role
from app.access.service import issue_token
from app.gradings import service as gradings
from app.gradings.service import Claim
from app.main import create_app
from app.resources import Resources
from app.settings import Settings
from app.store.engine import Store
from app.store.models import Grading
from app.submissions.service import Submitted
from graders.verdict import Visibility
from tests import builders
from tests.api.conftest import serving
from tests.broker import running_broker
from tests.processes import wait_until


@dataclass
class Event:
    id: int = 0
    type: str = ""
    data: str = ""


def read(lines: Iterator[str]) -> Iterator[Event]:
    event = Event()
    for line in lines:
        name, _, value = line.partition(": ")
        if not line and event.id:
            yield event
            event = Event()
        elif name == "id":
            event.id = int(value)
        elif name == "event":
            event.type = value
        elif name == "data":
            event.data = value


class Live:
    """A server on a real port, its database, and people."""

    def __init__(self, settings: Settings) -> None:
        serving(settings)
        self.store = Store(settings.database)
        self.app = create_app(settings)
        self.server = uvicorn.Server(
            uvicorn.Config(self.app, log_config=None, lifespan="on", timeout_graceful_shutdown=5)
        )
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]})
        self.thread.start()
        wait_until(lambda: self.server.started, "the server starts")
        with self.store.transaction() as session:
            self.user = builders.add_user(session)
            staff = builders.add_user(session, "ines", Role.INSTRUCTOR)
            self.ada = {"Authorization": f"Bearer {issue_token(session, self.user.user_id, 't')[1]}"}
            self.staff = {"Authorization": f"Bearer {issue_token(session, staff.user_id, 't')[1]}"}

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)
        self.listener.close()
        self.store.close()

    @property
    def resources(self) -> Resources:
        resources = self.app.state.resources
        assert isinstance(resources, Resources)
        return resources

    def claimed(self) -> Claim:
        with self.store.transaction() as session:
            submitted: Submitted = builders.add_submission(session, self.user)
        with self.store.transaction() as session:
            claim = gradings.claim(session, submitted.grading_id, worker_id="w", lease_s=30)
        assert claim is not None
        return claim

    def path(self, claim: Claim) -> str:
        return f"{self.url}/api/v1/submissions/{claim.submission_id}/events"


@pytest.fixture
def live(settings: Settings) -> Iterator[Live]:
    made = Live(settings)
    yield made
    made.close()


@dataclass
class Follower:
    """Reads a stream in a thread of its own."""

    url: str
    headers: dict[str, str]
    events: list[Event] = field(default_factory=list)
    response_headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        with httpx.stream("GET", self.url, headers=self.headers, timeout=30) as response:
            self.response_headers = dict(response.headers)
            for event in read(response.iter_lines()):
                self.events.append(event)

    def wait_for(self, count: int) -> None:
        wait_until(lambda: len(self.events) >= count, f"{count} events come")

    def wait_for_end(self) -> None:
        self.thread.join(20)
        assert not self.thread.is_alive()

    @property
    def told(self) -> list[tuple[int, str]]:
        return [(event.id, event.type) for event in self.events]


def test_events_come_as_they_happen_and_end_with_done(live: Live) -> None:
    claim = live.claimed()
    follower = Follower(live.path(claim), live.ada)
    follower.wait_for(1)
    assert follower.response_headers["content-type"].startswith("text/event-stream")
    with live.store.transaction() as session:
        gradings.record_event(session, claim, "state", {"state": "testing"})
    follower.wait_for(2)
    with live.store.transaction() as session:
        gradings.record_case(session, claim, builders.passed_case())
        gradings.finish(session, claim, builders.report())
    follower.wait_for_end()
    assert follower.told == [(1, "state"), (2, "state"), (3, "case"), (4, "done")]
    assert follower.events[1].data == '{"state": "testing"}'


def test_a_stream_resumes_where_it_broke_off(live: Live) -> None:
    claim = live.claimed()
    with live.store.transaction() as session:
        for _ in range(3):
            gradings.record_event(session, claim, "notice", {"key": "n"})
        gradings.finish(session, claim, builders.report())
    for url, headers, first in (
        (live.path(claim), {}, 1),
        (live.path(claim), {"Last-Event-ID": "3"}, 4),
        (live.path(claim) + "?after=2", {}, 3),
        (live.path(claim) + "?after=2", {"Last-Event-ID": "4"}, 5),
        (live.path(claim), {"Last-Event-ID": "nonsense"}, 1),
        (live.path(claim), {"Last-Event-ID": "5"}, 6),
    ):
        follower = Follower(url, live.ada | headers)
        follower.wait_for_end()
        assert [number for number, _ in follower.told] == list(range(first, 6))


def test_many_events_come_in_order(live: Live) -> None:
    claim = live.claimed()
    with live.store.transaction() as session:
        for _ in range(450):
            gradings.record_event(session, claim, "notice", {"key": "n"})
        gradings.finish(session, claim, builders.report())
    follower = Follower(live.path(claim), live.ada)
    follower.wait_for_end()
    assert [number for number, _ in follower.told] == list(range(1, 453))


def test_events_are_filtered_like_the_report(live: Live) -> None:
    claim = live.claimed()
    with live.store.transaction() as session:
        gradings.record_case(session, claim, builders.failed_case(1, Visibility.HIDDEN))
        gradings.finish(session, claim, builders.report())
    for headers, seen in ((live.ada, False), (live.staff, True)):
        follower = Follower(live.path(claim), headers)
        follower.wait_for_end()
        assert ("0.25" in follower.events[1].data) == seen


def test_a_wake_up_hastens_an_event(live: Live, settings: Settings) -> None:
    claim = live.claimed()
    with running_broker(settings) as client:
        follower = Follower(live.path(claim), live.ada)
        follower.wait_for(1)
        wait_until(lambda: client.pubsub_numsub("warpgrade.events")[0][1] == 1, "the server subscribes")
        with live.store.transaction() as session:
            gradings.finish(session, claim, builders.report())
        live.resources.wakeups.publish(claim.submission_id)
        follower.wait_for_end()
    assert follower.told[-1] == (2, "done")


def test_a_stream_has_a_longest_life(settings: Settings) -> None:
    live = Live(settings.model_copy(update={"stream_s": 0.2}))
    try:
        follower = Follower(live.path(live.claimed()), live.ada)
        follower.wait_for_end()
        assert follower.told == [(1, "state")]
    finally:
        live.close()


def test_streams_end_when_the_service_stops(live: Live) -> None:
    follower = Follower(live.path(live.claimed()), live.ada)
    follower.wait_for(1)
    live.resources.stop()
    follower.wait_for_end()


def test_a_cancelled_submission_ends_its_stream(live: Live) -> None:
    with live.store.transaction() as session:
        submitted = builders.add_submission(session, live.user)
    url = f"{live.url}/api/v1/submissions/{submitted.submission_id}"
    follower = Follower(f"{url}/events", live.ada)
    assert httpx.post(f"{url}/cancel", headers=live.ada).json()["state"] == "cancelled"
    follower.wait_for_end()
    assert follower.told == [(1, "done")]
    with live.store.reading() as session:
        assert session.scalars(select(Grading.state)).all() == ["cancelled"]
