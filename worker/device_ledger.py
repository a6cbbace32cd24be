"""A page in which a judge keeps what it holds on the device, for its supervisor to read at any moment.

Drivers tell how much of a device is used, and often not by whom. While a judge waits for a runner its own share
stands still; with that share known, the rest belongs to others. A message about it would come late: while the
supervisor is busy with the last one, the judge allocates for the next case, and a runner would be accused of that.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass

_SEQUENCE, _PRIVATE, _LIVE, _MADE = range(4)


@dataclass(frozen=True)
class Held:
    """What a judge held at one moment, besides its context; ``sequence`` tells that moment from others."""

    sequence: int
    private_bytes: int
    made_bytes: int


class DeviceLedger:
    """One writer, any number of readers, no lock.

    The sequence is odd while the judge works, when its share may change, and even while it waits: a reader that finds
    the same even number before and after a look at the device looked while nothing of the judge's changed.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        """A new ledger, or the judge's end of one."""
        if descriptor is None:
            descriptor = os.memfd_create("ledger", os.MFD_CLOEXEC)
            os.ftruncate(descriptor, mmap.PAGESIZE)
        self.descriptor = descriptor
        self._map = mmap.mmap(descriptor, mmap.PAGESIZE)
        self._words = memoryview(self._map).cast("Q")
        self.working()

    def working(self) -> None:
        """The judge's word that its share may change from now on."""
        self._words[_SEQUENCE] |= 1

    def waiting(self, private_bytes: int, live_bytes: int, made_bytes: int) -> None:
        """The judge's word that its share stands still from now on.

        ``private_bytes``: what nobody else maps; ``live_bytes``: arenas; ``made_bytes``: all arenas that ever were.
        """
        self.working()
        self._words[_PRIVATE], self._words[_LIVE], self._words[_MADE] = private_bytes, live_bytes, made_bytes
        self._words[_SEQUENCE] += 1

    def held(self) -> Held | None:
        """What the judge holds, or None while it works."""
        sequence = self._words[_SEQUENCE]
        held = Held(sequence, self._words[_PRIVATE], self._words[_MADE])
        return held if sequence % 2 == 0 and self._words[_SEQUENCE] == sequence else None

    @property
    def live_bytes(self) -> int:
        """Arenas that exist, as told last."""
        return self._words[_LIVE]

    @property
    def made_bytes(self) -> int:
        """All arenas that ever existed, as told last: never less than a moment before."""
        return self._words[_MADE]

    def handed_over(self) -> None:
        """Close the descriptor, which another process has now. The page stays mapped as long as this object lives."""
        os.close(self.descriptor)
