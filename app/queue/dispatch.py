"""Sending a grading to a worker: the lane is chosen from live workers, the message is the grading's id."""

from __future__ import annotations

import logging
from datetime import datetime

import redis
from celery import Celery
from kombu.exceptions import OperationalError
from sqlalchemy import ColumnElement, and_
from sqlalchemy.orm import Session

from app.gradings.outcomes import update_grading
from app.queue.celery import TASK_NAME
from app.settings import Settings
from app.store.columns import utc_now
from app.store.engine import Store
from app.store.models import Grading
from app.workers.service import live_workers
from graders.verdict import State

_log = logging.getLogger(__name__)


class Dispatcher:
    """Sends queued gradings. Several processes may send at once: each message is sent by one of them."""

    def __init__(self, store: Store, celery: Celery, settings: Settings) -> None:
        self._store = store
        self._celery = celery
        self._settings = settings

    def choose_queue(self, session: Session) -> str | None:
        """The queue of a healthy live worker, a GPU's before any other. None: no worker is there."""
        workers = live_workers(session, self._settings.worker_gone_s)
        return next((worker.queue for worker in workers if worker.healthy), None)

    def dispatch(self, grading_id: str, *, sent_at: datetime | None = None) -> bool:
        """Send a grading that is queued and was last sent at ``sent_at`` (None: never).

        Call it after the commit. False: nothing was sent, and the sweeper will see to it. Never raises for a
        broker that is down.
        """
        now = utc_now()
        unsent = and_(Grading.id == grading_id, Grading.state == State.QUEUED.value, _last_sent(sent_at))
        with self._store.transaction() as session:
            queue = self.choose_queue(session)
            if queue is None or not update_grading(session, unsent, sent_at=now, queue=queue):
                return False
        try:
            self._celery.send_task(TASK_NAME, args=[grading_id], queue=queue)
        except (OperationalError, redis.RedisError, OSError) as error:
            _log.warning("grading %s waits for the broker: %s", grading_id, error)
            mine = and_(Grading.id == grading_id, Grading.state == State.QUEUED.value, _last_sent(now))
            with self._store.transaction() as session:
                update_grading(session, mine, sent_at=None, queue=None)
            return False
        return True


def _last_sent(sent_at: datetime | None) -> ColumnElement[bool]:
    return Grading.sent_at.is_(None) if sent_at is None else Grading.sent_at == sent_at
