"""A database that goes away while it commits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.store.engine import Store


class Unconfirming:
    """A store whose first transaction ends as if the database had gone away, ``committed`` or not."""

    def __init__(self, store: Store, committed: bool, meanwhile: Callable[[], None] = lambda: None) -> None:
        self._store, self._committed, self._meanwhile = store, committed, meanwhile
        self._first = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        gone = OperationalError("COMMIT", None, Exception("server closed the connection unexpectedly"))
        first, self._first = self._first, False
        try:
            with self._store.transaction() as session:
                yield session
                if first and not self._committed:
                    raise gone
        finally:
            if first:
                self._meanwhile()
        if first:
            raise gone
