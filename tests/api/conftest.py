"""A served application, on every database that is given: local mode and server mode, without and with a broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient

from app.access.principals import Principal, Role
from app.access.service import issue_token
from app.main import create_app
from app.resources import Resources
from app.settings import Settings
from app.setup import prepare
from app.store.engine import Store
from tests import builders, databases

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


def with_a_drill(settings: Settings) -> None:
    """A database with schema, drills and no accounts: making it is most of what a test's set-up would cost."""
    prepare(settings.model_copy(update={"mode": "server"}))
    store = Store(settings.database)
    with store.transaction() as session:
        builders.add_drill(session)
    store.close()


def serving(settings: Settings) -> TestClient:
    """A client of an application with the toy drill; use it as a context manager."""
    if not settings.data.exists():
        settings.data.mkdir(parents=True)
        databases.fill(settings, with_a_drill)
    prepare(settings)
    return TestClient(create_app(settings), base_url="http://127.0.0.1:8000", raise_server_exceptions=False)


@pytest.fixture(params=databases.KINDS)
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def local(settings: Settings) -> Iterator[TestClient]:
    """A browser on local mode's own pages."""
    with serving(settings) as client:
        client.headers.update(SAME_ORIGIN)
        yield client


@pytest.fixture
def server_settings(settings: Settings, new_url: Callable[[], str | None]) -> Settings:
    data = settings.data.with_name("server")
    return Settings(data=data, database_url=new_url(), mode="server", submissions_per_hour=3)


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
