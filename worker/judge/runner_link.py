"""The judge's end of one runner: ask, wait by the judge's clock, keep a little of what it prints."""

from __future__ import annotations

import os
import selectors
import time
from typing import Any

from worker.judge.messages import Said, parse
from worker.protocol.channel import Channel, PeerGone, ProtocolError

_READ_BYTES = 64 * 1024


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
        self._asked_at = time.perf_counter()
        self.elapsed_s = 0.0  # from the last question to its answer, by the judge's clock
        os.set_blocking(output, False)

    def ask(self, message: dict[str, Any], timeout_s: float, descriptors: tuple[int, ...] = ()) -> Said:
        """Send ``message`` and wait for the answer.

        Raises RunnerTimedOut, RunnerGone, OutputExceeded, or ProtocolError for an answer of the wrong form.
        """
        self._asked_at = time.perf_counter()
        try:
            self._channel.send(message, descriptors)
        except PeerGone as gone:
            raise RunnerGone from gone
        return self.listen(timeout_s)

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
                    self.elapsed_s = time.perf_counter() - self._asked_at
                    self.drain()
                    return parse(arrived[0])
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise RunnerTimedOut
                for key, _ in selector.select(remaining):
                    self._read(key, selector)

    def drain(self) -> None:
        """Read what the runner has printed so far. Raises OutputExceeded."""
        while self._output_open and self._read_output():
            pass

    def take_output(self) -> str | None:
        """What was printed since the last time, clipped, as text."""
        text = self._kept.decode("utf-8", "replace").replace("\x00", "�")
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
