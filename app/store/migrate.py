"""Bring a database to the newest schema, from inside the program: no alembic.ini, no command to forget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, text

from app.store.engine import writing

_MIGRATIONS = Path(__file__).with_name("migrations")
_LOCK = 0x77617270  # any number that nobody else uses in this database


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Apply what is missing, in one transaction, while other processes wait. Does nothing on an up-to-date database."""
    with _alone(engine) as connection:
        command.upgrade(_config(connection), revision)


def downgrade(engine: Engine, revision: str) -> None:
    """Take migrations back down to ``revision``."""
    with _alone(engine) as connection:
        command.downgrade(_config(connection), revision)


@contextmanager
def _alone(engine: Engine) -> Iterator[Connection]:
    """SQLite has one writer; on PostgreSQL whoever migrates takes a lock, and waits for it as long as that takes."""
    with writing(engine).begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL lock_timeout = 0"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        yield connection


def _config(connection: object) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
