"""How a worker stops: it takes no more work, and what it is at ends soon or goes to another worker."""

from __future__ import annotations

import multiprocessing
import time

_LOOK_S = 0.5
"""How often it is looked, during a rest, whether it is to end."""


class WorkerStops(Exception):
    """The worker was told to stop before it could begin: the work is another's."""


class Stopping:
    """Whether this worker was told to stop, shared by the process that hears it and the one that works.

    Without a lock: one writes and the other reads a single number, and a process that is killed would keep the lock.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._told_at = multiprocessing.Value("d", 0.0, lock=False)

    def tell(self) -> None:
        """Stop; telling it again changes nothing."""
        if not self.told:
            self._told_at.value = time.monotonic()

    @property
    def told(self) -> bool:
        """Take no more work."""
        return bool(self._told_at.value)

    def require_going_on(self) -> None:
        """Raises WorkerStops when no more work is to be taken."""
        if self.told:
            raise WorkerStops("this worker stops")

    def rest(self, duration_s: float) -> None:
        """Wait before something is tried again. Raises WorkerStops as soon as it is told to stop."""
        deadline = time.monotonic() + duration_s
        self.require_going_on()
        while time.monotonic() < deadline:
            time.sleep(_LOOK_S)
            self.require_going_on()

    @property
    def overdue(self) -> bool:
        """Give up even what is being worked at: it has had ``patience_s`` seconds to end."""
        return self.told and time.monotonic() >= float(self._told_at.value) + self._patience_s
