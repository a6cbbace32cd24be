"""Real processes in tests: waited for by condition, found wherever they hide. Imports nothing but Python's own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

SELDOM_S = 0.2
"""How often to ask a service for what takes it seconds: asked more often it is busy with answering."""


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = 20, every_s: float = 0.02) -> None:
    """Return as soon as the condition is true; fail the test after ``timeout_s``."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"in vain: {what}")
        time.sleep(every_s)


def unwatched() -> dict[str, str]:
    """The environment without what has coverage watch a process: a kernel's interpretation, which is Python that
    nobody asks the coverage of, takes more than twice as long when watched."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text("latin-1")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def all_processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdecimal()]


def descendants(pid: int) -> list[int]:
    """The processes below ``pid``, as /proc knows them now."""
    parents: dict[int, int] = {}
    for each in all_processes():
        try:
            parents[each] = int(Path(f"/proc/{each}/stat").read_text("latin-1").rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    found = [pid]
    for parent in found:
        found += [child for child, its_parent in parents.items() if its_parent == parent]
    return found[1:]


def named(mark: str) -> list[int]:
    """Living processes that have ``mark`` in their own name or in their arguments."""
    found = []
    for pid in all_processes():
        try:
            name = Path(f"/proc/{pid}/comm").read_text("latin-1")
            arguments = Path(f"/proc/{pid}/cmdline").read_text("latin-1")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if (mark in name or mark in arguments) and is_alive(pid):
            found.append(pid)
    return found


def uid_of(pid: int) -> int | None:
    """The real user id of a process, or None when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("latin-1")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("Uid:"))


def processes_of(uid: int) -> list[int]:
    """The living processes of a user."""
    return [pid for pid in all_processes() if uid_of(pid) == uid and is_alive(pid)]


def pid_namespace(pid: int) -> int | None:
    """The identity of a process's pid namespace, or None when it is gone or none of ours."""
    try:
        return Path(f"/proc/{pid}/ns/pid").stat().st_ino
    except OSError:
        return None


def processes_in(namespace: int) -> list[int]:
    """The living processes of a pid namespace, wherever they stand in the tree."""
    return [pid for pid in all_processes() if pid_namespace(pid) == namespace and is_alive(pid)]
