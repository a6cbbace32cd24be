"""Things that happen at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

T = TypeVar("T")


def at_once(count: int, act: Callable[[int], T]) -> list[T]:
    """``act(0)``, ``act(1)``, … in threads that begin together. Raises what one of them raises."""
    barrier = Barrier(count)

    def together(number: int) -> T:
        barrier.wait(20)
        return act(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(together, range(count)))
