"""Following numbered events live: as they come, until there will be no more."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol, TypeVar

from starlette.concurrency import run_in_threadpool

from app.queue.wakeup import wait_for
from app.resources import Resources
from app.store.engine import AWAY, why_away

BATCH = 200
LAST_NUMBER = 2**31 - 1
"""The largest that an event can have."""

_POLL_S = 1.0  # how late an event comes when no wake-up does


_log = logging.getLogger(__name__)


class Numbered(Protocol):
    @property
    def number(self) -> int: ...


E = TypeVar("E", bound=Numbered)


def resumed(last_event_id: str | None, after: int) -> int:
    """The number to go on from: what ``Last-Event-ID`` says, if it is a number, else ``after``."""
    if last_event_id is None or not (last_event_id.isdecimal() and len(last_event_id) <= len(str(LAST_NUMBER))):
        return after
    return min(int(last_event_id), LAST_NUMBER)


async def follow_numbered(
    resources: Resources, topic: str, read: Callable[[int], tuple[Sequence[E], bool]], after: int
) -> AsyncIterator[E]:
    """The events of a topic from number ``after`` (exclusive) on.

    ``read`` gives at most ``BATCH`` events after a number, and whether no more will come: on one snapshot, so that
    no last event is missed. While the database is away it waits. Ends early when the service stops or the stream is
    old; whoever listens resumes from the last number.
    """
    deadline = time.monotonic() + resources.settings.stream_s
    with resources.listeners.listening(topic) as woken:
        while not resources.stopping.is_set() and time.monotonic() < deadline:
            try:
                events, ended = await run_in_threadpool(read, after)
            except AWAY as error:  # a browser that came back to a 503 would not come again
                _log.info("a stream waits for the database: %s", why_away(error))
                events, ended = [], False
            for event in events:
                yield event
                after = event.number
            if ended and len(events) < BATCH:
                return
            if len(events) < BATCH:
                await wait_for(woken, _POLL_S)
