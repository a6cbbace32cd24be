"""While a grading is measured on a GPU, nothing of ours warms up there, of no worker and no validation.

The device lock sees to neither: runners and judges warm up outside of it. So each of them holds a second lock while it
does, shared with the others, and who measures holds that lock alone.

Nobody waits for the shared lock, and who waits to have it alone holds the device lock and waits for a while only: no
two can wait for each other.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from worker.supervisor.device_lock import POLL_S, DeviceLock, NoLock, is_at, open_lock_file


@dataclass(frozen=True)
class WarmUp:
    """What a process inherits that is to warm up, and gives back when it is warm; nothing where nobody measures."""

    descriptors: tuple[int, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """The end of its command line, which tells it."""
        return [str(descriptor) for descriptor in self.descriptors]


class NoWarmUps:
    """Of a lane without a device."""

    @contextmanager
    def begun(self) -> Iterator[WarmUp | None]:
        """It always may."""
        yield WarmUp()

    def keep_out(self, _timeout_s: float, _waiting: Callable[[], None]) -> bool:
        """There is nothing to wait for."""
        return True

    def let_in(self) -> None:
        """Nothing was kept out."""


class WarmUps:
    """The lock, as one supervisor sees it: beside the device lock's file, and as open to all workers."""

    def __init__(self, lock: DeviceLock) -> None:
        self.path = lock.path.with_suffix(".warm-ups.lock")
        self._alone: int | None = None

    @contextmanager
    def begun(self) -> Iterator[WarmUp | None]:
        """What a process needs that is started in the block, and holds from then on: the lock is its own.

        None while somebody measures, this supervisor included. Raises LockUnavailable.
        """
        descriptor = self._locked(fcntl.LOCK_SH)
        if descriptor is None:
            yield None
            return
        try:
            yield WarmUp((descriptor,))
        finally:
            os.close(descriptor)

    def keep_out(self, timeout_s: float, waiting: Callable[[], None]) -> bool:
        """Wait until nothing warms up, and let nothing begin to until ``let_in``; whether that came in time.

        Meanwhile ``waiting`` is called many times a second and may raise to give up. For a holder of the device lock.
        Raises LockUnavailable.
        """
        deadline = time.monotonic() + timeout_s
        while self._alone is None:
            self._alone = self._locked(fcntl.LOCK_EX)
            if self._alone is None:
                if time.monotonic() >= deadline:
                    return False
                waiting()
                time.sleep(POLL_S)
        return True

    def let_in(self) -> None:
        """Let warm-ups begin again. Unlocked, not only closed: what another thread starts has a copy for a moment."""
        if self._alone is not None:
            descriptor, self._alone = self._alone, None
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _locked(self, kind: int) -> int | None:
        """A descriptor of its own that is locked; None when the lock is not to be had now."""
        while True:
            descriptor = open_lock_file(self.path)
            with contextlib.ExitStack() as undo:
                undo.callback(os.close, descriptor)
                try:
                    fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
                except BlockingIOError:
                    return None
                if is_at(descriptor, self.path):
                    undo.pop_all()
                    return descriptor


def warm_ups_beside(lock: DeviceLock | NoLock) -> WarmUps | NoWarmUps:
    """Those of the same device."""
    return WarmUps(lock) if isinstance(lock, DeviceLock) else NoWarmUps()
