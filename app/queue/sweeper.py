"""Nothing stays queued or running for ever: the sweeper sends again what got lost and ends what cannot be done.

Any number of web processes may sweep at once, since every change is a compare-and-set.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ParamSpec

import redis
from sqlalchemy import ColumnElement, Select, and_, delete, func, select
from sqlalchemy.orm import Session, aliased

from app.queue.dispatch import Dispatcher
from app.queue.wakeup import Wakeups
from app.queue.work import EVERY_WORK, HELD, QUEUED, Work
from app.settings import Settings
from app.store.columns import utc_now
from app.store.engine import Store
from app.store.models import IdempotencyKey, Worker
from app.workers.service import live_workers

_BATCH = 500
_KEEP_KEYS = timedelta(hours=24)
_KEEP_WORKERS = timedelta(hours=24)
_log = logging.getLogger(__name__)

P = ParamSpec("P")


class Sweeper:
    """Looks over the queued and the running work every few seconds."""

    def __init__(
        self, store: Store, dispatcher: Dispatcher, wakeups: Wakeups, client: redis.Redis, settings: Settings
    ) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._wakeups = wakeups
        self._client = client
        self._settings = settings

    def run(self, stop: threading.Event) -> None:
        """Sweep until ``stop`` is set, whatever happens in between: without it, work would wait for ever."""
        while not stop.wait(self._settings.sweep_s):
            self.sweep()

    def sweep(self) -> None:
        """One pass. A step that fails is logged, keeps no other from being done, and is tried again next time."""
        for work in EVERY_WORK:
            for step in (self._take_back_expired, self._send_unsent, self._send_lost):
                _attempt(step, work)
        _attempt(self._forget_old)

    def _take_back_expired(self, work: Work) -> None:
        table = work.table
        expired = and_(table.state.in_(HELD), table.lease_until < utc_now())
        with self._store.reading() as session:
            rows = session.execute(select(table.id, work.topic.label("topic"), table.attempt).where(expired)).all()
        for row in rows:
            _attempt(self._take_back, work, row.id, row.topic, and_(table.attempt == row.attempt, expired))

    def _take_back(self, work: Work, work_id: str, topic: str, expired: ColumnElement[bool]) -> None:
        held = and_(work.table.id == work_id, expired)
        with self._store.transaction() as session:
            worker_id = session.scalars(select(work.table.worker_id).where(held)).one_or_none()
            reason = f"worker {worker_id} fell silent"
            taken = work.take_back(session, work_id, held, reason, self._settings.max_attempts)
        if taken:
            _log.warning("%s %s was taken back: %s", work.name, work_id, reason)
            self._wakeups.publish(topic)

    def _send_unsent(self, work: Work) -> None:
        table = work.table
        with self._store.reading() as session:
            if self._dispatcher.choose_queue(session) is None:
                return
            unsent = and_(table.state == QUEUED, table.sent_at.is_(None))
            waiting = session.scalars(select(table.id).where(unsent).order_by(table.queued_at).limit(_BATCH)).all()
        for work_id in waiting:
            if not self._dispatcher.send(work_id, work, sent_at=None):
                return

    def _send_lost(self, work: Work) -> None:
        """Send again what was sent long ago and cannot still be waiting its turn."""
        with self._store.reading() as session:
            lost = [
                (row.id, row.sent_at)
                for queue in self._overdue_queues(session, work)
                for row in session.scalars(self._lost_in(session, work, queue))
            ]
        for work_id, sent_at in lost:
            if not self._dispatcher.send(work_id, work, sent_at=sent_at):
                return

    def _overdue_queues(self, session: Session, work: Work) -> list[str]:
        return list(session.scalars(select(work.table.queue).where(self._overdue(work)).distinct()))

    def _overdue(self, work: Work) -> ColumnElement[bool]:
        before = utc_now() - timedelta(seconds=self._settings.resend_s)
        return and_(work.table.state == QUEUED, work.table.sent_at < before)

    def _lost_in(self, session: Session, work: Work, queue: str) -> Select[Any]:
        """Overdue work of a queue that nobody will get to.

        All of it, if the queue is empty or has no worker left while another has one. Otherwise as much as there are
        messages too few, where each stands for a turn; a message too many does no harm, and is dropped in the end.
        Where a message stands for the work that it names, what was overtaken: a queue is first in, first out, so its
        message is gone if a later one was claimed.
        """
        table = work.table
        overdue = select(table).where(self._overdue(work), table.queue == queue).order_by(table.queued_at)
        live = {worker.queue for worker in live_workers(session, self._settings.worker_gone_s) if worker.healthy}
        messages = self._messages(queue)
        if messages == 0 or (live and queue not in live):
            return overdue.limit(_BATCH)
        if work.in_line:
            missing = 0 if messages is None else max(0, _waiting(session, queue) - messages)
            return overdue.limit(min(missing, _BATCH))
        later = aliased(table)
        claimed = select(later.sent_at).where(later.queue == queue, later.claimed_at > later.sent_at)
        newest = claimed.order_by(later.sent_at.desc()).limit(1).scalar_subquery()
        return overdue.where(table.sent_at < newest).limit(_BATCH)

    def _messages(self, queue: str) -> int | None:
        """How many messages wait in the queue. None: the broker does not say."""
        try:
            return int(self._client.llen(queue))
        except (redis.RedisError, OSError):
            return None

    def _forget_old(self) -> None:
        now = utc_now()
        with self._store.transaction() as session:
            session.execute(delete(IdempotencyKey).where(IdempotencyKey.created_at < now - _KEEP_KEYS))
            session.execute(delete(Worker).where(Worker.heartbeat_at < now - _KEEP_WORKERS))


def _waiting(session: Session, queue: str) -> int:
    """How much work waits of all that was sent to the queue: so many messages are needed."""
    sent = (
        select(func.count()).where(
            work.table.state == QUEUED, work.table.queue == queue, work.table.sent_at.is_not(None)
        )
        for work in EVERY_WORK
    )
    return sum(session.scalars(query).one() for query in sent)


def _attempt(step: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    try:
        step(*args, **kwargs)
    except Exception:
        _log.exception("%s failed; the next sweep tries again", step.__name__)
