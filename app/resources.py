"""What lives as long as the web process: made in the lifespan, reached through ``app.state.resources``."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass

import redis

from app.queue.broker import connect, redis_url
from app.queue.celery import make_sender
from app.queue.dispatch import Dispatcher
from app.queue.streams import Streams
from app.queue.sweeper import Sweeper
from app.queue.wakeup import Listeners, Wakeups
from app.settings import Settings
from app.store.engine import Store


@dataclass(frozen=True)
class Resources:
    """Everything a request may need."""

    settings: Settings
    store: Store
    client: redis.Redis
    dispatcher: Dispatcher
    wakeups: Wakeups
    listeners: Listeners
    streams: Streams
    stopping: threading.Event

    def stop(self) -> None:
        """Let streams and the sweeper end. Call it when the server is asked to stop, before it waits for streams."""
        self.stopping.set()
        self.listeners.wake_all()


@contextlib.asynccontextmanager
async def open_resources(settings: Settings) -> AsyncIterator[Resources]:
    """Build the resources, with the sweeper and the wake-up subscription running, and take them down again."""
    store = Store(settings.database)
    client = connect(settings)
    celery = make_sender(settings)
    resources = Resources(
        settings=settings,
        store=store,
        client=client,
        dispatcher=Dispatcher(store, celery, settings),
        wakeups=Wakeups(client),
        listeners=Listeners(redis_url(settings)),
        streams=Streams(),
        stopping=threading.Event(),
    )
    sweeper = Sweeper(store, resources.dispatcher, resources.wakeups, client, settings)
    thread = threading.Thread(target=sweeper.run, args=[resources.stopping], name="sweeper", daemon=True)
    thread.start()
    subscription = asyncio.create_task(resources.listeners.run())
    try:
        yield resources
    finally:
        resources.stop()
        subscription.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await subscription
        await asyncio.to_thread(thread.join)
        celery.close()
        client.close()
        store.close()
