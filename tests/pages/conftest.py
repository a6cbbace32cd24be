"""The pages as a browser without JavaScript sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from app.access.principals import Role
from app.pages.rendering import HEADERS
from tests import builders
from tests.api.conftest import SAME_ORIGIN, local, resources_of, server, server_settings, sign_up  # noqa: F401
from tests.pages.document import Document
from tests.played import PlayedWorker

_BROWSER = {"Accept": "text/html,application/xhtml+xml", **SAME_ORIGIN}


@dataclass
class Site:
    """A browser. Every page it opens is checked."""

    client: TestClient

    def get(self, path: str, status: int = 200, headers: dict[str, str] | None = None) -> Document:
        return self._page(self.client.get(path, headers={**_BROWSER, **(headers or {})}), status)

    def post(self, path: str, status: int, **form: Any) -> Document:
        return self._page(self.send(path, **form), status)

    def send(self, path: str, **form: Any) -> Response:
        """Send a form, and follow nothing."""
        return self.client.post(path, headers=_BROWSER, follow_redirects=False, **form)

    def submit(self, source: str = builders.SOURCE, drill: str = "toy") -> str:
        """Send the drill's form and return the submission's id."""
        answer = self.send(f"/drills/{drill}/submit", data={"source": source})
        assert answer.status_code == 303, answer.text
        return answer.headers["Location"].removeprefix("/submissions/")

    @property
    def worker(self) -> PlayedWorker:
        return PlayedWorker(resources_of(self.client).store)

    @staticmethod
    def _page(answer: Response, status: int) -> Document:
        assert answer.status_code == status, answer.text
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert HEADERS.items() <= {name: answer.headers.get(name) for name in HEADERS}.items()
        document = Document(answer.text)
        document.require_sound()
        return document


@pytest.fixture
def site(local: TestClient) -> Site:  # noqa: F811
    """Local mode: an administrator who needs no sign-in."""
    return Site(local)


@pytest.fixture
def sign_in(server: TestClient, sign_up: Callable[..., dict[str, str]]) -> Callable[..., Site]:  # noqa: F811
    """Server mode: make a user, and sign a browser in as them by the form."""

    def make(name: str = "ada", role: Role = Role.STUDENT) -> Site:
        token = sign_up(name, role)["Authorization"].removeprefix("Bearer ")
        server.cookies.clear()
        assert Site(server).send("/login", data={"token": token}).status_code == 303
        return Site(server)

    return make
