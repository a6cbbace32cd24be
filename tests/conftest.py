"""Fixtures that several test trees share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.settings import Settings
from app.store.engine import Store
from app.store.migrate import upgrade
from tests import databases


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=["A", "B"], default="A", help="the sandbox that the corpora are graded in")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.startswith("WARPGRADE_") or name == "PORT":
            monkeypatch.delenv(name)


@pytest.fixture(scope="session", autouse=True)
def _no_template_left() -> Iterator[None]:
    yield
    if databases.POSTGRES:
        databases.server().close()


@pytest.fixture
def database_kind() -> str:
    """Which database a test runs on; ``app`` and ``api`` run on every one that is given."""
    return "sqlite"


@pytest.fixture
def new_url(database_kind: str) -> Iterator[Callable[[], str | None]]:
    """A database URL for settings, another with each call."""
    with databases.fresh_urls(database_kind) as fresh:
        yield fresh


@pytest.fixture
def settings(tmp_path: Path, new_url: Callable[[], str | None]) -> Settings:
    """Local mode in a directory of the test's own."""
    return Settings(data=tmp_path / "data", port=0, database_url=new_url())


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    """An empty database with the newest schema."""
    settings.data.mkdir(parents=True)
    databases.fill(settings, migrated)
    store = Store(settings.database)
    yield store
    store.close()


def migrated(settings: Settings) -> None:
    store = Store(settings.database)
    upgrade(store.engine)
    store.close()
