"""How many event streams each user has open: each costs memory and, once a second, a look at the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import Problem

_AGAIN_S = "10"


class Streams:
    """The streams that each user has open, of this web process. Used on its event loop alone."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    @contextmanager
    def opened(self, user_id: str, most: int | None) -> Iterator[None]:
        """One more, for as long as the block lasts. Raises Problem(too-many-streams) where there are ``most``."""
        if most is not None and self._open[user_id] >= most:
            raise Problem(
                "too-many-streams",
                f"You follow {most} streams, and no more are allowed at a time. Close one, or poll.",
                headers={"Retry-After": _AGAIN_S},
            )
        self._open[user_id] += 1
        try:
            yield
        finally:
            self._open[user_id] -= 1
            if not self._open[user_id]:
                del self._open[user_id]
