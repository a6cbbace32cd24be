"""One end of a Unix socket that carries JSON objects, each with an optional few file descriptors.

A frame is a four-byte big-endian length, one byte that counts its descriptors, and the JSON; the descriptors ride
with its first byte (the kernel may hand them over together with the bytes of the frame before).
Nothing is ever unpickled, and a peer that breaks the form is cut off: ``ProtocolError`` ends the channel.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import socket
import struct
import time
from collections import deque
from typing import Any

RUNNER_FRAME_BYTES = 512 * 1024
"""A source of the longest length fits even when JSON needs six bytes for each of its own."""
JUDGE_FRAME_BYTES = 16 * 1024 * 1024

SEND_WAIT_S = 60
"""For a peer that does not read what it is sent."""

_LENGTH = 4
_HEADER = _LENGTH + 1
_CHUNK = 64 * 1024


class ProtocolError(Exception):
    """The peer sent what the protocol does not know."""


class PeerGone(Exception):
    """The peer closed its end or died."""


class Channel:
    """A framed Unix socket. Not thread-safe: one reader and one writer at a time.

    ``max_descriptors`` is what may arrive at once; with 0 a descriptor that the peer sends never enters this process.
    """

    def __init__(self, sock: socket.socket, max_frame_bytes: int, max_descriptors: int = 0) -> None:
        self._socket = sock
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", SEND_WAIT_S, 0))
        self._max = max_frame_bytes
        self._max_descriptors = max_descriptors
        self._buffer = bytearray()
        self._descriptors: deque[int] = deque()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        """Send one message. Raises PeerGone when nobody is left to read it, or reads on; ValueError when it is over the
        cap."""
        body = json.dumps(message, separators=(",", ":")).encode()
        if len(body) > self._max:
            raise ValueError(f"a message of {len(body)} bytes is over the cap of {self._max}")
        frame = len(body).to_bytes(_LENGTH, "big") + bytes([len(descriptors)]) + body
        try:
            sent = socket.send_fds(self._socket, [frame], list(descriptors)) if descriptors else 0
            self._socket.sendall(frame[sent:])
        except OSError as error:
            raise PeerGone(str(error)) from error

    def receive(self, timeout_s: float | None = None) -> tuple[dict[str, Any], list[int]]:
        """The next message with its descriptors, which the caller owns and closes.

        Raises TimeoutError, PeerGone or ProtocolError.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while (message := self.pop()) is None:
            self._socket.settimeout(None if deadline is None else max(deadline - time.monotonic(), 1e-6))
            try:
                self._fill()
            finally:
                self._socket.settimeout(None)
        return message

    def pop(self) -> tuple[dict[str, Any], list[int]] | None:
        """A message that has already arrived whole, or None."""
        if len(self._buffer) < _HEADER:
            return None
        length, attached = int.from_bytes(self._buffer[:_LENGTH], "big"), self._buffer[_LENGTH]
        if length > self._max:
            raise ProtocolError(f"a frame of {length} bytes is over the cap of {self._max}")
        if attached > self._max_descriptors:
            raise ProtocolError(f"a frame with {attached} descriptors, where {self._max_descriptors} may come")
        if len(self._buffer) < _HEADER + length:
            return None
        body = bytes(self._buffer[_HEADER : _HEADER + length])
        del self._buffer[: _HEADER + length]
        if attached > len(self._descriptors):
            raise ProtocolError("a frame without the descriptors it announced")
        return _parse(body), [self._descriptors.popleft() for _ in range(attached)]

    def pump(self) -> None:
        """Read what is there, once; for use after a selector reported the socket readable."""
        self._fill()

    def close(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.popleft())
        with contextlib.suppress(OSError):
            self._socket.close()

    def _fill(self) -> None:
        try:
            data, ancillary, flags, _ = self._socket.recvmsg(_CHUNK, self._ancillary_bytes())
        except TimeoutError:
            raise
        except OSError as error:
            raise PeerGone(str(error)) from error
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors = array.array("i")
                descriptors.frombytes(payload[: len(payload) - len(payload) % descriptors.itemsize])
                self._descriptors.extend(descriptors)
        if flags & socket.MSG_CTRUNC:
            raise ProtocolError("more descriptors than the protocol knows")
        if not data:
            raise PeerGone("end of stream")
        self._buffer += data

    def _ancillary_bytes(self) -> int:
        if not self._max_descriptors:
            return 0
        return socket.CMSG_LEN(self._max_descriptors * array.array("i").itemsize)


def _parse(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("a frame that is not JSON") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError("a frame that is no object with a type")
    return message


def from_descriptor(descriptor: int, max_frame_bytes: int, max_descriptors: int = 0) -> Channel:
    """The channel over a socket that was inherited or received."""
    return Channel(socket.socket(fileno=descriptor), max_frame_bytes, max_descriptors)
