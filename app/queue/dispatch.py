"""Sending work to a worker: the lane is chosen from live workers, the message is the work's id."""

from __future__ import annotations

import logging
import time
from datetime import datetime

import redis
from celery import Celery
from kombu.exceptions import OperationalError
from sqlalchemy import ColumnElement, and_
from sqlalchemy.orm import Session

from app.queue.work import GRADING, QUEUED, Work
from app.settings import Settings
from app.store.columns import utc_now
from app.store.engine import Store
from app.workers.service import live_workers

_QUIET_S = 5.0
_log = logging.getLogger(__name__)


class Dispatcher:
    """Sends queued work. Several processes may send at once: each message is sent by one of them."""

    def __init__(self, store: Store, celery: Celery, settings: Settings) -> None:
        self._store = store
        self._celery = celery
        self._settings = settings
        self._quiet_until = 0.0

    def choose_queue(self, session: Session) -> str | None:
        """The queue of a healthy live worker, a GPU's before any other. None: no worker is there."""
        workers = live_workers(session, self._settings.worker_gone_s)
        return next((worker.queue for worker in workers if worker.healthy), None)

    def dispatch(self, work_id: str, work: Work = GRADING) -> bool:
        """Send new work. Call it after the commit. False: nothing was sent, and the sweeper will see to it.

        While the broker has just been found not to answer, that is left to the sweeper: it has a thread of its own,
        and whoever calls this has one that requests wait for. Never raises for a broker that is down.
        """
        return time.monotonic() >= self._quiet_until and self.send(work_id, work, sent_at=None)

    def send(self, work_id: str, work: Work, *, sent_at: datetime | None) -> bool:
        """Send work that is queued and was last sent at ``sent_at`` (None: never). False and no exception as above."""
        now = utc_now()
        with self._store.transaction() as session:
            queue = self.choose_queue(session)
            if queue is None or not work.update(session, _unsent(work, work_id, sent_at), sent_at=now, queue=queue):
                return False
        try:
            self._celery.send_task(work.task, args=[work_id], queue=queue)
        except (OperationalError, redis.RedisError, OSError) as error:
            self._quiet_until = time.monotonic() + _QUIET_S
            _log.warning("%s %s waits for the broker: %s", work.name, work_id, error)
            with self._store.transaction() as session:
                work.update(session, _unsent(work, work_id, now), sent_at=None, queue=None)
            return False
        return True


def _unsent(work: Work, work_id: str, sent_at: datetime | None) -> ColumnElement[bool]:
    """Still queued, and not sent since ``sent_at``."""
    last = work.table.sent_at.is_(None) if sent_at is None else work.table.sent_at == sent_at
    return and_(work.table.id == work_id, work.table.state == QUEUED, last)
