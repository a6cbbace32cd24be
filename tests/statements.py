"""What is sent to a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event


class Statements:
    """Recorded statements with their parameters."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.sent: list[tuple[str, Any]] = []

    def plans(self) -> list[str]:
        """How SQLite looks for the rows of those that read: a line a step."""
        with self._engine.connect() as connection:
            return [
                row[3]
                for text, parameters in self.sent
                if text.startswith("SELECT")
                for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", parameters)
            ]


@contextmanager
def recorded(engine: Engine) -> Iterator[Statements]:
    """What is sent within the block."""
    found = Statements(engine)

    def note(_connection: Any, _cursor: Any, text: str, parameters: Any, _context: Any, _many: bool) -> None:
        found.sent.append((text, parameters))

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", note)
