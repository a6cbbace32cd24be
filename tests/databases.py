"""Databases of the tests' own: SQLite files, and databases of the PostgreSQL server whose URL is given.

Most tests want one with a schema, or with more: it is made once a process, and then copied.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, make_url, text
from sqlalchemy.engine import URL

from app.settings import Settings
from tests.cluster import VARIABLE

POSTGRES = os.environ.get(VARIABLE)
KINDS = ["sqlite", "postgresql"] if POSTGRES else ["sqlite"]
ON_SQLITE = pytest.mark.parametrize("database_kind", KINDS[:1])
ON_POSTGRESQL = pytest.mark.parametrize("database_kind", KINDS[1:])  # none: pytest says that it skips the test

Make = Callable[[Settings], None]
_FILE = "warpgrade.db"


class Server:
    """The PostgreSQL server that is given, and what this process made on it."""

    def __init__(self, url: str) -> None:
        self._url: URL = make_url(url)
        self._engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
        self._numbers = count()
        self._templates: dict[Make, URL] = {}

    def fresh(self) -> URL:
        """A URL of no database yet."""
        return self._url.set(database=f"test_{os.getpid()}_{next(self._numbers)}")

    def create(self, url: URL, template: URL | None = None) -> None:
        """An empty database, or a copy."""
        copied = f' TEMPLATE "{template.database}"' if template is not None else " TEMPLATE template0"
        self.run(f'CREATE DATABASE "{url.database}"{copied}')

    def drop(self, url: URL) -> None:
        self.run(f'DROP DATABASE IF EXISTS "{url.database}" WITH (FORCE)')

    def template(self, make: Make) -> URL:
        """What ``make`` makes of an empty database."""
        if make not in self._templates:
            url = self._templates[make] = self.fresh()
            self.create(url)
            with tempfile.TemporaryDirectory() as folder:
                make(Settings(data=Path(folder), database_url=str(url)))
        return self._templates[make]

    def close(self) -> None:
        for url in self._templates.values():
            self.drop(url)

    def run(self, statement: str, **values: str | None) -> None:
        with self._engine.connect() as connection:
            connection.execute(text(statement), values)


@cache
def server() -> Server:
    assert POSTGRES
    return Server(POSTGRES)


def fill(settings: Settings, make: Make) -> None:
    """Make the database that ``make`` would make from nothing, in a data directory that exists."""
    url = make_url(settings.database)
    if url.get_backend_name() == "sqlite":
        (settings.data / _FILE).write_bytes(_file(make))
    else:
        server().create(url, server().template(make))


def create(settings: Settings) -> None:
    """An empty database, in a data directory that exists."""
    if settings.database_url is not None:
        server().create(make_url(settings.database_url))


@contextmanager
def fresh_urls(kind: str) -> Iterator[Callable[[], str | None]]:
    """URLs for settings, each of no database yet, dropped at the end; None is the file in the data directory."""
    made: list[URL] = []

    def fresh() -> str:
        made.append(server().fresh())
        return str(made[-1])

    yield fresh if kind == "postgresql" else lambda: None
    for url in made:
        server().drop(url)


@contextmanager
def away(settings: Settings) -> Iterator[None]:
    """The settings' PostgreSQL database as it is while its server restarts: connections end, and none is let in."""
    name = make_url(settings.database).database
    server().run(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
    server().run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name", name=name)
    try:
        yield
    finally:
        server().run(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


@cache
def _file(make: Make) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        make(settings)
        return (settings.data / _FILE).read_bytes()
