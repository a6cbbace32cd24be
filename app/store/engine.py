"""Connections and transactions, the same for SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.orm import Session, sessionmaker

_BUSY_TIMEOUT_MS = 10_000
_BEGIN = "sqlite_begin"


def make_engine(url: str) -> Engine:
    """An engine for ``url``. SQLite runs in WAL mode with foreign keys, waiting for a busy writer."""
    engine = create_engine(url, pool_pre_ping=not url.startswith("sqlite"))
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


class Store:
    """The database as the rest of the service sees it: reading sessions and writing transactions."""

    def __init__(self, url: str) -> None:
        self.engine = make_engine(url)
        self._reading = sessionmaker(self.engine, expire_on_commit=False)
        self._writing = sessionmaker(self.engine.execution_options(**{_BEGIN: "IMMEDIATE"}), expire_on_commit=False)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session on one consistent snapshot; nothing is committed."""
        with self._reading() as session:
            yield session

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """A session that commits at the end, or rolls back on an exception. Keep it short.

        On SQLite it takes the write lock with its first statement: a transaction that reads first and
        writes later could otherwise fail at once, without waiting, because its snapshot is stale.
        """
        with self._writing.begin() as session:
            yield session

    def close(self) -> None:
        self.engine.dispose()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver's own BEGIN comes too late; _begin_sqlite sends ours
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    mode = connection.get_execution_options().get(_BEGIN, "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {mode}")
