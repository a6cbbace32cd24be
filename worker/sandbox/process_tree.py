"""Who descends from whom, and whether they run, read from /proc."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
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


def switches(pids: Iterable[int]) -> dict[tuple[int, int], int] | None:
    """How often each thread, by its process's id and its own, has been taken off a core: none runs without it.

    None if one of them is not at rest, or a process is gone.
    """
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                text = Path(f"/proc/{pid}/task/{thread}/status").read_text("latin-1")
                fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
                if fields["State"].split()[0] not in _AT_REST:
                    return None
                counts = (fields["voluntary_ctxt_switches"], fields["nonvoluntary_ctxt_switches"])
                found[pid, int(thread)] = sum(map(int, counts))
        except OSError:
            return None
    return found


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
