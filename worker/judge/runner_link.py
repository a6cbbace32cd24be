"""The judge's end of one runner: ask, wait by the judge's clock, keep a little of what it prints."""

from __future__ import annotations

import os
import selectors
import time
from typing import Any

from worker.judge.messages import Said, parse, without_nul
from worker.protocol.channel import Channel, PeerGone, ProtocolError
from worker.protocol.doorbell import Doorbell

_READ_BYTES = 64 * 1024
_LOOK_S = 5e-3
"""How long only the doorbell is looked at, before a look at everything else."""


class RunnerTimedOut(Exception):
    """No answer within the limit."""


class RunnerGone(Exception):
    """The runner ended or closed its socket."""


class OutputExceeded(Exception):
    """The submission printed more than its limit."""


class RunnerLink:
    """A runner and its output. After any exception from ``ask`` the runner is of no more use."""

    def __init__(self, runner_id: int, channel: Channel, output: int, *, kept_bytes: int, limit_bytes: int) -> None:
        self.id = runner_id
        self._channel = channel
        self._output = output
        self._output_open = True
        self._kept = bytearray()
        self._kept_bytes = kept_bytes
        self._printed = 0
        self._limit_bytes = limit_bytes
        os.set_blocking(output, False)

    def ask(self, message: dict[str, Any], timeout_s: float, descriptors: tuple[int, ...] = ()) -> Said:
        """Send ``message`` and wait for the answer.

        Raises RunnerTimedOut, RunnerGone, OutputExceeded, or ProtocolError for an answer of the wrong form.
        """
        self.tell(message, descriptors)
        return self.listen(timeout_s)

    def tell(self, message: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        """Send ``message``. Raises RunnerGone."""
        try:
            self._channel.send(message, descriptors)
        except PeerGone as gone:
            raise RunnerGone from gone

    def ring(self, doorbell: Doorbell, timeout_s: float) -> float | Said:
        """Ring and look for the answer: seconds between the two, or a message that came in its place. As ``ask``."""
        rang_at = time.perf_counter()
        doorbell.ring()
        while not doorbell.answered(time.perf_counter() + _LOOK_S):
            try:
                return self.listen(0.0)
            except RunnerTimedOut:
                if time.perf_counter() - rang_at > timeout_s:
                    raise
        return time.perf_counter() - rang_at

    def listen(self, timeout_s: float) -> Said:
        """The next message, as ``ask``."""
        deadline = time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._channel, selectors.EVENT_READ, self._channel)
            if self._output_open:
                selector.register(self._output, selectors.EVENT_READ, None)
            while True:
                arrived = self._channel.pop()
                if arrived is not None:
                    self.drain()
                    return parse(arrived[0])
                remaining = deadline - time.monotonic()
                ready = selector.select(max(remaining, 0.0))
                if not ready and remaining <= 0:
                    raise RunnerTimedOut
                for key, _ in ready:
                    self._read(key, selector)

    def drain(self) -> None:
        """Read what the runner has printed so far. Raises OutputExceeded."""
        while self._output_open and self._read_output():
            pass

    def take_output(self) -> str | None:
        """What was printed since the last time, clipped, as text."""
        text = without_nul(self._kept.decode("utf-8", "replace"))
        self._kept_bytes -= len(self._kept)  # the clip is for all that this runner ever prints
        self._kept.clear()
        return text or None

    def close(self) -> None:
        self._channel.close()
        os.close(self._output)

    def _read(self, key: selectors.SelectorKey, selector: selectors.BaseSelector) -> None:
        if key.data is None:
            if not self._read_output() and not self._output_open:
                selector.unregister(self._output)
            return
        try:
            self._channel.pump()
        except PeerGone as gone:
            self.drain()
            raise RunnerGone from gone

    def _read_output(self) -> bool:
        try:
            data = os.read(self._output, _READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._output_open = False
            return False
        self._printed += len(data)
        self._kept += data[: max(0, self._kept_bytes - len(self._kept))]
        if self._printed > self._limit_bytes:
            raise OutputExceeded
        return True


__all__ = ["OutputExceeded", "ProtocolError", "RunnerGone", "RunnerLink", "RunnerTimedOut"]
