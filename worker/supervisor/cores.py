"""Cores for a measurement: both contestants make their calls on the same one, and nothing else of ours runs there.

The first launch of a round takes a third longer on one core than on another (what its sibling does, what its caches
hold), which is more than the difference that is to be measured. Only one of the two is ever awake.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

LEAST = 4
"""With fewer cores there is none to spare."""

_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


@dataclass(frozen=True)
class Cores:
    """The contestants' core, and those for everything else of ours."""

    contestants: frozenset[int]
    others: frozenset[int]


def choose_cores() -> Cores | None:
    """Of those this process may use, or None where none is to spare."""
    allowed = frozenset(os.sched_getaffinity(0))
    if len(allowed) < LEAST:
        return None
    chosen = max(allowed)
    others = allowed - _siblings(chosen)
    return Cores(frozenset([chosen]), others) if others else None


def pin(pids: list[int], cores: frozenset[int]) -> None:
    """Have the first thread of each process run on ``cores``; one that is gone, or not ours to move, stays."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(pid, cores)


def own_threads() -> list[int]:
    """Of this process: what watches and serves beside a measurement."""
    return [int(name) for name in os.listdir("/proc/self/task")]


def _siblings(core: int) -> frozenset[int]:
    """``core`` and what shares its execution units."""
    with contextlib.suppress(OSError, ValueError):
        ranges = [part.split("-") for part in Path(_SIBLINGS.format(core)).read_text().strip().split(",")]
        return frozenset(number for ends in ranges for number in range(int(ends[0]), int(ends[-1]) + 1))
    return frozenset([core])
