"""Nothing stays queued or running for ever: the sweeper sends again what got lost and ends what cannot be judged.

Any number of web processes may sweep at once, since every change is a compare-and-set.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import ParamSpec

import redis
from sqlalchemy import ColumnElement, Select, and_, delete, exists, select
from sqlalchemy.orm import Session, aliased

from app.gradings.outcomes import Released, release
from app.queue.dispatch import Dispatcher
from app.queue.wakeup import Wakeups
from app.settings import Settings
from app.store.columns import utc_now
from app.store.engine import Store
from app.store.models import Grading, IdempotencyKey, Worker
from app.workers.service import live_workers
from graders.verdict import State

_BATCH = 500
_IDLE = (State.QUEUED.value, State.DONE.value, State.CANCELLED.value)
_KEEP_KEYS = timedelta(hours=24)
_KEEP_WORKERS = timedelta(hours=24)
_log = logging.getLogger(__name__)

P = ParamSpec("P")


class Sweeper:
    """Looks over the gradings every few seconds."""

    def __init__(
        self, store: Store, dispatcher: Dispatcher, wakeups: Wakeups, client: redis.Redis, settings: Settings
    ) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._wakeups = wakeups
        self._client = client
        self._settings = settings

    def run(self, stop: threading.Event) -> None:
        """Sweep until ``stop`` is set, whatever happens in between: without it, gradings would wait for ever."""
        while not stop.wait(self._settings.sweep_s):
            self.sweep()

    def sweep(self) -> None:
        """One pass. A step that fails is logged, keeps no other from being done, and is tried again next time."""
        for step in (self._take_back_expired, self._send_unsent, self._send_lost, self._forget_old):
            _attempt(step)

    def _take_back_expired(self) -> None:
        expired = and_(Grading.state.not_in(_IDLE), Grading.lease_until < utc_now())
        with self._store.reading() as session:
            rows = session.execute(select(Grading.id, Grading.submission_id, Grading.attempt).where(expired)).all()
        for row in rows:
            _attempt(self._take_back, row.id, row.submission_id, and_(Grading.attempt == row.attempt, expired))

    def _take_back(self, grading_id: str, submission_id: str, expired: ColumnElement[bool]) -> None:
        held = and_(Grading.id == grading_id, expired)
        with self._store.transaction() as session:
            worker_id = session.scalars(select(Grading.worker_id).where(held)).one_or_none()
            reason = f"worker {worker_id} fell silent"
            released = release(session, grading_id, held, reason, max_attempts=self._settings.max_attempts)
        if released is not Released.LOST:
            _log.warning("grading %s: %s; %s", grading_id, reason, released)
            self._wakeups.publish(submission_id)

    def _send_unsent(self) -> None:
        with self._store.reading() as session:
            if self._dispatcher.choose_queue(session) is None:
                return
            unsent = and_(Grading.state == State.QUEUED.value, Grading.sent_at.is_(None))
            waiting = session.scalars(select(Grading.id).where(unsent).order_by(Grading.queued_at).limit(_BATCH)).all()
        for grading_id in waiting:
            if not self._dispatcher.dispatch(grading_id):
                return

    def _send_lost(self) -> None:
        """Send again what was sent long ago and cannot still be waiting its turn."""
        with self._store.reading() as session:
            lost = [
                (grading.id, grading.sent_at)
                for queue in self._overdue_queues(session)
                for grading in session.scalars(self._lost_in(session, queue))
            ]
        for grading_id, sent_at in lost:
            self._dispatcher.dispatch(grading_id, sent_at=sent_at)

    def _overdue_queues(self, session: Session) -> list[str]:
        return list(session.scalars(select(Grading.queue).where(self._overdue()).distinct()))

    def _overdue(self) -> ColumnElement[bool]:
        before = utc_now() - timedelta(seconds=self._settings.resend_s)
        return and_(Grading.state == State.QUEUED.value, Grading.sent_at < before)

    def _lost_in(self, session: Session, queue: str) -> Select[Grading]:
        """Overdue gradings of a queue that nobody will get to.

        All of them, if the queue is empty or has no worker left while another has one. Otherwise those that
        were overtaken: a queue is first in, first out, so their message is gone if a later one was claimed.
        """
        overdue = select(Grading).where(self._overdue(), Grading.queue == queue).order_by(Grading.queued_at)
        live = {worker.queue for worker in live_workers(session, self._settings.worker_gone_s) if worker.healthy}
        if self._is_empty(queue) or (live and queue not in live):
            return overdue.limit(_BATCH)
        later = aliased(Grading)
        return overdue.where(
            exists().where(later.queue == queue, later.sent_at > Grading.sent_at, later.claimed_at > later.sent_at)
        ).limit(_BATCH)

    def _is_empty(self, queue: str) -> bool:
        try:
            return self._client.llen(queue) == 0
        except (redis.RedisError, OSError):
            return False

    def _forget_old(self) -> None:
        now = utc_now()
        with self._store.transaction() as session:
            session.execute(delete(IdempotencyKey).where(IdempotencyKey.created_at < now - _KEEP_KEYS))
            session.execute(delete(Worker).where(Worker.heartbeat_at < now - _KEEP_WORKERS))


def _attempt(step: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    try:
        step(*args, **kwargs)
    except Exception:
        _log.exception("%s failed; the next sweep tries again", step.__name__)
