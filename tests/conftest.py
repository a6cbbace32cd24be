"""Fixtures that several test trees share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.settings import Settings
from app.store.engine import Store
from app.store.migrate import upgrade


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=["A", "B"], default="A", help="the sandbox that the corpora are graded in")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.startswith("WARPGRADE_") or name == "PORT":
            monkeypatch.delenv(name)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Local mode in a directory of the test's own."""
    return Settings(data=tmp_path / "data", port=0)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    """An empty database with the newest schema."""
    settings.data.mkdir(parents=True)
    store = Store(settings.database)
    upgrade(store.engine)
    yield store
    store.close()
