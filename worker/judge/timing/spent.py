"""Where the time of a measurement goes, for whoever wants to shorten it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Spent:
    """Seconds by what they were spent on, all rounds together."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def add(self, part: str, seconds: float) -> None:
        self._seconds[part] = self._seconds.get(part, 0.0) + seconds

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Add what the block takes, however it ends."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.add(part, time.perf_counter() - began)

    def milliseconds(self) -> dict[str, float]:
        """As a report has it."""
        return {part: round(seconds * 1e3, 3) for part, seconds in self._seconds.items()}
