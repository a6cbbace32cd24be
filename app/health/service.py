"""What the service needs, looked at now."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from app.queue.broker import is_up
from app.resources import Resources
from app.store.models import Worker
from app.workers.service import live_workers

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Health:
    """``workers`` are those with a recent heartbeat; empty as well when the database is away."""

    database: bool
    broker: bool
    workers: list[Worker]

    @property
    def reasons(self) -> list[str]:
        """Why the service is not ready. No worker is no reason: submissions wait for one."""
        parts = {"the database": self.database, "the broker": self.broker}
        return [f"{name} does not answer" for name, up in parts.items() if not up]


def look(resources: Resources) -> Health:
    """Ask the database and the broker. Never raises."""
    broker = is_up(resources.client)
    try:
        with resources.store.reading() as session:
            session.execute(text("SELECT 1"))
            workers = live_workers(session, resources.settings.worker_gone_s)
    except SQLAlchemyError as error:
        _log.warning("the database does not answer: %s", error)
        return Health(database=False, broker=broker, workers=[])
    return Health(database=True, broker=broker, workers=workers)
