"""A page of memory over which a timed round is started and its end is told, without a system call on either side.

A message over a socket takes a tenth of a millisecond to arrive, give or take half of that: more than the spread of
everything else in a round. Both sides look at the page in a loop instead. The runner can write whatever it likes into
it; all that the judge ever reads is one number, which is the one that it drew for this round or is not.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import secrets
import time

MAX_ORDER = 1024
_BYTES = 16384
_RUNG, _ANSWERED, _GRAPHS, _COUNT, _ORDER = range(5)
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_LOOKS = 64
"""Looks at the page between two at the clock."""


class Doorbell:
    """A sealed page of 64-bit words. ``descriptor`` is what the other side needs to map it."""

    def __init__(self, descriptor: int | None = None) -> None:
        if descriptor is None:
            descriptor = os.memfd_create("doorbell", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(descriptor, _BYTES)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        self.descriptor = descriptor
        self._map = mmap.mmap(descriptor, _BYTES)
        self._words = memoryview(self._map).cast("q")
        self._nonce = 0
        self._seen = 0

    def set(self, order: list[int], *, graphs: bool) -> None:
        """Write what the next ring asks for: the calls (with ``graphs``: the graphs) to make, one after the other."""
        if len(order) > MAX_ORDER:
            raise ValueError(f"an order of {len(order)} calls is longer than {MAX_ORDER}")
        words = self._words
        words[_GRAPHS], words[_COUNT] = graphs, len(order)
        for index, call in enumerate(order, _ORDER):
            words[index] = call
        self._nonce = 1 + secrets.randbits(62)

    def ring(self) -> None:
        """The judge's go. The word is written last: a side that sees it sees the order."""
        self._words[_RUNG] = self._nonce

    def answered(self, until: float) -> bool:
        """Look until the round that was rung for is answered, or until ``until`` by ``time.perf_counter``."""
        words, nonce, clock = self._words, self._nonce, time.perf_counter
        while True:
            for _ in range(_LOOKS):
                if words[_ANSWERED] == nonce:
                    return True
            if clock() >= until:
                return False

    def wait(self) -> tuple[list[int], bool]:
        """The runner's side: look until it rings; the order, and whether it is one of graphs. No calls: it is over."""
        words, seen = self._words, self._seen
        while words[_RUNG] == seen:
            pass
        self._seen = words[_RUNG]
        return self._words[_ORDER : _ORDER + min(words[_COUNT], MAX_ORDER)].tolist(), bool(words[_GRAPHS])

    def answer(self) -> None:
        """The runner's done."""
        self._words[_ANSWERED] = self._seen

    def close(self) -> None:
        self._words.release()
        self._map.close()
        os.close(self.descriptor)
