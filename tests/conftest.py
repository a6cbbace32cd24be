"""Fixtures that several test trees share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from app.settings import Settings
from app.store.engine import Store
from app.store.migrate import upgrade
from tests import databases

hypothesis.settings.register_profile("suite", deadline=None)  # what is kept waiting is not wrong
hypothesis.settings.load_profile("suite")

LONGEST_FIRST = (
    *("hostile/test_hostile.py", "worker/test_faults.py", "docs/test_authoring_walk.py"),
    *("worker/corpus/test_t2_online_softmax.py", "worker/corpus/test_t2_softmax.py", "hostile/test_beside_others.py"),
    *("worker/corpus/test_t3_rmsnorm.py", "service/test_survival.py", "reference/test_softmax.py"),
    *("worker/supervisor/test_supervisor.py", "worker/validation/test_validation.py"),
    *("worker/validation/test_rehearsing.py", "worker/sandbox/test_tier_b.py", "worker/test_validator.py"),
    *("worker/corpus/test_every_drill.py", "hostile/test_secrets.py", "service/test_postgres.py"),
    *("service/test_validating.py", "reference/test_t2_online_softmax.py", "worker/sandbox/test_walls.py"),
)
"""Files that take long. A worker takes a file at a time: one of two would be idle while the other ended one of them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


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
