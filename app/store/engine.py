"""Connections and transactions, the same for SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import InterfaceError, OperationalError, TimeoutError
from sqlalchemy.orm import Session, sessionmaker

_WAIT_MS = 10_000  # for a lock that another holds
_IDLE_MS = 60_000  # a transaction whose process is frozen lets its locks go
_CONNECT_S = 5
_SILENT_MS = 15_000  # a server that does not acknowledge what was sent is away
_BEGIN = "sqlite_begin"
_POSTGRESQL: dict[str, Any] = {
    "connect_timeout": _CONNECT_S,
    "tcp_user_timeout": _SILENT_MS,
    "application_name": "warpgrade",
    "options": f"-c lock_timeout={_WAIT_MS} -c idle_in_transaction_session_timeout={_IDLE_MS}",
}


AWAY = (OperationalError, InterfaceError, TimeoutError)
"""What is raised while the database does not answer, or is too busy: the same may succeed later."""


def why_away(error: BaseException) -> str:
    """One of AWAY in a line, without the statement that met it."""
    return " ".join(str(getattr(error, "orig", error)).split())


def make_engine(url: str) -> Engine:
    """An engine for ``url``. SQLite runs in WAL mode with foreign keys; both wait 10 s for a lock, then fail.

    PostgreSQL's connections are tried before they are used, so that a restarted server costs an error at most.
    Errors do not name the values that were sent: they are students' sources, and secrets' hashes.
    """
    if make_url(url).get_backend_name() != "sqlite":
        return create_engine(url, hide_parameters=True, pool_pre_ping=True, connect_args=_POSTGRESQL)
    engine = create_engine(url, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


class Store:
    """The database as the rest of the service sees it: reading sessions and writing transactions."""

    def __init__(self, url: str) -> None:
        self.engine = make_engine(url)
        snapshot = self.engine.execution_options(**_SNAPSHOT[self.engine.dialect.name])
        self._reading = sessionmaker(snapshot, expire_on_commit=False)
        self._writing = sessionmaker(writing(self.engine), expire_on_commit=False)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session on one consistent snapshot; nothing is committed."""
        with self._reading() as session:
            yield session

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """A session that commits at the end, or rolls back on an exception. Keep it short.

        On PostgreSQL others write at the same time: what a transaction reads and then relies on it has to lock, or
        state again as a condition of its UPDATE. Lock with ``key_share=True``, so that foreign keys to the row go on.

        On SQLite it takes the write lock with its first statement: a transaction that reads first and
        writes later could otherwise fail at once, without waiting, because its snapshot is stale.
        """
        with self._writing.begin() as session:
            yield session

    def close(self) -> None:
        self.engine.dispose()


def writing(engine: Engine) -> Engine:
    """The engine for transactions that write."""
    return engine.execution_options(**{_BEGIN: "IMMEDIATE"})


_SNAPSHOT: dict[str, dict[str, Any]] = {
    "sqlite": {},
    "postgresql": {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
}
"""By database, what makes a transaction see one moment; SQLite's always do."""


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver's own BEGIN comes too late; _begin_sqlite sends ours
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_WAIT_MS}")
    _switch_to_wal(cursor)
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _switch_to_wal(cursor: Any) -> None:
    """Of a new database, which two processes may open at once: SQLite then refuses one of them without waiting."""
    deadline = time.monotonic() + _WAIT_MS / 1e3
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    mode = connection.get_execution_options().get(_BEGIN, "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {mode}")
