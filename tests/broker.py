"""A broker of the test's own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import redis

from app.queue.broker import connect, is_up, server_command
from app.settings import Settings
from tests.processes import wait_until


@contextmanager
def running_broker(settings: Settings) -> Iterator[redis.Redis]:
    """Our own broker on the settings' socket, and a client of it."""
    settings.data.mkdir(parents=True, exist_ok=True)
    client = connect(settings)
    with subprocess.Popen(server_command(settings)) as process:
        try:
            wait_until(lambda: is_up(client), "the broker starts")
            yield client
        finally:
            process.kill()
    client.close()
