"""Real processes in tests: started, waited for by condition, never left behind."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from app.queue.broker import connect, is_up, server_command
from app.settings import Settings


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = 20) -> None:
    """Return as soon as the condition is true; fail the test after ``timeout_s``."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"in vain: {what}")
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def descendants(pid: int) -> list[int]:
    """The processes below ``pid``, as /proc knows them now."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    found = [pid]
    for parent in found:
        found += [child for child, its_parent in parents.items() if its_parent == parent]
    return found[1:]


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
