"""The Redis server behind the queue: the operator's, or one of our own on a Unix socket.

Ours listens on no port at all. Its socket lies in a directory that only this user can enter, so that
nothing which runs as somebody else, such as a submission, can reach it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from app.settings import Settings

_SOCKET_NAME = "redis.sock"
_SOCKET_PATH_BYTES = 100  # the kernel's limit is 107 and a terminating zero


class BrokerError(RuntimeError):
    """No broker can be had; the message says why and what cures it."""


def broker_url(settings: Settings) -> str:
    """The URL as Celery reads it: the configured one, or our own server's socket."""
    return settings.broker_url or f"redis+socket://{socket_path(settings.data)}?virtual_host=0"


def redis_url(settings: Settings) -> str:
    """The same server as redis-py reads it."""
    url = broker_url(settings)
    parts = urlsplit(url)
    return f"unix://{parts.path}" if parts.scheme == "redis+socket" else url


def socket_path(data: Path) -> Path:
    """Where our own server listens: in the data directory, unless that makes the path too long for a socket."""
    path = data / "broker" / _SOCKET_NAME
    if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES:
        return path
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"warpgrade-{os.getuid()}-{digest}" / _SOCKET_NAME
