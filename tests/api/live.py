"""A server on a real port, and following its streams."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

import httpx2 as httpx
import uvicorn

from app.access.principals import Role
from app.access.service import issue_token
from app.gradings import service as gradings
from app.gradings.service import Claim
from app.main import create_app
from app.resources import Resources
from app.settings import Settings
from app.store.engine import Store
from app.submissions.service import Submitted
from tests import builders
from tests.api.conftest import serving
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
            self.instructor = builders.add_user(session, "ines", Role.INSTRUCTOR)
            self.ada = {"Authorization": f"Bearer {issue_token(session, self.user.user_id, 't')[1]}"}
            self.staff = {"Authorization": f"Bearer {issue_token(session, self.instructor.user_id, 't')[1]}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
