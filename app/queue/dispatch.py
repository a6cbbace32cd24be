"""Sending work to a worker: the lane is chosen from live workers, the message is the work's id."""

from __future__ import annotations

import logging
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

_log = logging.getLogger(__name__)


class Dispatcher:
    """Sends queued work. Several processes may send at once: each message is sent by one of them."""

    def __init__(self, store: Store, celery: Celery, settings: Settings) -> None:
        self._store = store
        self._celery = celery
        self._settings = settings

    def choose_queue(self, session: Session) -> str | None:
        """The queue of a healthy live worker, a GPU's before any other. None: no worker is there."""
        workers = live_workers(session, self._settings.worker_gone_s)
        return next((worker.queue for worker in workers if worker.healthy), None)

    def dispatch(self, work_id: str, work: Work = GRADING, *, sent_at: datetime | None = None) -> bool:
        """Send work that is queued and was last sent at ``sent_at`` (None: never).

        Call it after the commit. False: nothing was sent, and the sweeper will see to it. Never raises for a
        broker that is down.
        """
        now = utc_now()
        with self._store.transaction() as session:
            queue = self.choose_queue(session)
            if queue is None or not work.update(session, _unsent(work, work_id, sent_at), sent_at=now, queue=queue):
                return False
        try:
            self._celery.send_task(work.task, args=[work_id], queue=queue)
        except (OperationalError, redis.RedisError, OSError) as error:
            _log.warning("%s %s waits for the broker: %s", work.name, work_id, error)
            with self._store.transaction() as session:
                work.update(session, _unsent(work, work_id, now), sent_at=None, queue=None)
            return False
        return True


def _unsent(work: Work, work_id: str, sent_at: datetime | None) -> ColumnElement[bool]:
    """Still queued, and not sent since ``sent_at``."""
    last = work.table.sent_at.is_(None) if sent_at is None else work.table.sent_at == sent_at
    return and_(work.table.id == work_id, work.table.state == QUEUED, last)
