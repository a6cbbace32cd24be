"""Waking those who follow something. Redis carries the hint that there is something new, never the news itself.

Losing Redis slows a stream down to polling and does nothing worse.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator

import redis
import redis.asyncio

_CHANNEL = "warpgrade.events"
_RETRY_S = 5.0
_RECONNECT_S = 1.0
_log = logging.getLogger(__name__)


class Wakeups:
    """The sending side, for the worker and the web service. Call it after the commit."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._quiet_until = 0.0

    def publish(self, topic: str) -> None:
        """Hint that what people follow, such as a submission, has a new event. Never raises; after a failure it is
        silent for a few seconds, so that a broker that is down costs a grading nothing."""
        if time.monotonic() < self._quiet_until:
            return
        try:
            self._client.publish(_CHANNEL, topic)
        except (redis.RedisError, OSError) as error:
            self._quiet_until = time.monotonic() + _RETRY_S
            _log.warning("cannot wake listeners: %s", error)


class Listeners:
    """The receiving side, one a web process: one subscription, any number of streams."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._waiting: dict[str, set[asyncio.Event]] = {}

    @contextlib.contextmanager
    def listening(self, topic: str) -> Iterator[asyncio.Event]:
        """An event that is set when the topic may have news."""
        event = asyncio.Event()
        self._waiting.setdefault(topic, set()).add(event)
        try:
            yield event
        finally:
            self._waiting[topic].discard(event)
            if not self._waiting[topic]:
                del self._waiting[topic]

    def wake_all(self) -> None:
        """Let every stream look: the service stops, or hints may have been missed."""
        for topic in [*self._waiting]:
            self._wake(topic)

    async def run(self) -> None:
        """Receive hints until cancelled, reconnecting for as long as it takes."""
        while True:
            try:
                await self._receive()
            except (redis.RedisError, OSError) as error:
                _log.info("not subscribed to wake-ups: %s", error)
            await asyncio.sleep(_RECONNECT_S)

    async def _receive(self) -> None:
        client = redis.asyncio.Redis.from_url(self._url, decode_responses=True)
        try:
            async with client.pubsub(ignore_subscribe_messages=True) as subscription:
                await subscription.subscribe(_CHANNEL)
                self.wake_all()
                async for message in subscription.listen():
                    self._wake(message["data"])
        finally:
            await client.aclose()

    def _wake(self, topic: str) -> None:
        for event in self._waiting.get(topic, ()):
            event.set()


async def wait_for(event: asyncio.Event, timeout_s: float) -> None:
    """Until the event is set or the time is over, whichever comes first; then the event is clear."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), timeout_s)
    event.clear()
