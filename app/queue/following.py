"""Following numbered events live: as they come, until there will be no more."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol, TypeVar

from starlette.concurrency import run_in_threadpool

from app.queue.wakeup import wait_for
from app.resources import Resources

BATCH = 200
_POLL_S = 1.0  # how late an event comes when no wake-up does


class Numbered(Protocol):
    @property
    def number(self) -> int: ...


E = TypeVar("E", bound=Numbered)


async def follow_numbered(
    resources: Resources, topic: str, read: Callable[[int], tuple[Sequence[E], bool]], after: int
) -> AsyncIterator[E]:
    """The events of a topic from number ``after`` (exclusive) on.

    ``read`` gives at most ``BATCH`` events after a number, and whether no more will come: on one snapshot, so that
    no last event is missed. Ends early when the service stops or the stream is old; whoever listens resumes from the
    last number.
    """
    deadline = time.monotonic() + resources.settings.stream_s
    with resources.listeners.listening(topic) as woken:
        while not resources.stopping.is_set() and time.monotonic() < deadline:
            events, ended = await run_in_threadpool(read, after)
            for event in events:
                yield event
                after = event.number
            if ended and len(events) < BATCH:
                return
            if len(events) < BATCH:
                await wait_for(woken, _POLL_S)
