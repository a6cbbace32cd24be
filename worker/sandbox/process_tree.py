"""Who descends from whom, and whether they run, read from /proc."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_AT_REST = frozenset("TtZX")


def at_rest(pid: int) -> bool:
    """Whether every thread of a process is stopped or dead. One that is gone is not: its children are elsewhere."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        stats = [Path(f"/proc/{pid}/task/{thread}/stat").read_text("latin-1") for thread in threads]
    except OSError:
        return False
    return bool(stats) and all(stat.rpartition(")")[2].split()[0] in _AT_REST for stat in stats)


def tree(root: int) -> list[int]:
    """Process ids of ``root`` and its descendants, as far as the kernel lists them."""
    found, frontier = [root], [root]
    while frontier:
        below = children(frontier.pop())
        found.extend(below)
        frontier.extend(below)
    return found


def children(pid: int) -> list[int]:
    """The children of every thread of a process; none when it is gone."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found.extend(map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split()))
    return found
