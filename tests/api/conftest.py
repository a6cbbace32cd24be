"""A served application: local mode and server mode, without and with a broker."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.access.principals import Principal, Role
from app.access.service import issue_token
from app.main import create_app
from app.resources import Resources
from app.settings import Settings
from app.setup import prepare
from app.store.engine import Store
from tests import builders

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@cache
def _template() -> bytes:
    """A database with schema, drills and no accounts: making it is most of what a test's set-up would cost."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), mode="server")
        prepare(settings)
        store = Store(settings.database)
        with store.transaction() as session:
            builders.add_drill(session)
        store.close()
        return (Path(folder) / "warpgrade.db").read_bytes()


def serving(settings: Settings) -> TestClient:
    """A client of an application with the toy drill; use it as a context manager."""
    if not settings.data.exists():
        settings.data.mkdir(parents=True)
        (settings.data / "warpgrade.db").write_bytes(_template())
    prepare(settings)
    return TestClient(create_app(settings), base_url="http://127.0.0.1:8000", raise_server_exceptions=False)


@pytest.fixture
def local(settings: Settings) -> Iterator[TestClient]:
    """A browser on local mode's own pages."""
    with serving(settings) as client:
        client.headers.update(SAME_ORIGIN)
        yield client


@pytest.fixture
def server_settings(settings: Settings) -> Settings:
    return Settings(data=settings.data.with_name("server"), mode="server", submissions_per_hour=3)


@pytest.fixture
def server(server_settings: Settings) -> Iterator[TestClient]:
    """Nobody in particular, before server mode."""
    with serving(server_settings) as client:
        yield client


def resources_of(client: TestClient) -> Resources:
    resources = client.app.state.resources  # type: ignore[attr-defined]
    assert isinstance(resources, Resources)
    return resources


@pytest.fixture
def sign_up(server: TestClient) -> Callable[..., dict[str, str]]:
    """Make a user and return the headers that speak for them."""

    def make(name: str = "ada", role: Role = Role.STUDENT) -> dict[str, str]:
        with resources_of(server).store.transaction() as session:
            principal: Principal = builders.add_user(session, name, role)
            _, secret = issue_token(session, principal.user_id, "test")
        return {"Authorization": f"Bearer {secret}"}

    return make
