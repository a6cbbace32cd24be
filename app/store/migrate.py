"""Bring a database to the newest schema, from inside the program: no alembic.ini, no command to forget."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

_MIGRATIONS = Path(__file__).with_name("migrations")


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Apply what is missing, in one transaction. Does nothing on an up-to-date database."""
    with engine.begin() as connection:
        command.upgrade(_config(connection), revision)


def downgrade(engine: Engine, revision: str) -> None:
    """Take migrations back down to ``revision``."""
    with engine.begin() as connection:
        command.downgrade(_config(connection), revision)


def _config(connection: object) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
