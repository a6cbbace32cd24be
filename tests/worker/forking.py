"""A sandbox whose runners are forked behind its walls from a process that has imported torch and Triton already.

Importing them is two seconds of a core, twice a grading, and most of what a corpus would cost. Walls, judge and runner
are the real ones; but the runners of a kind share their walls, and one is ended with its descendants alone, so this is
for submissions that attack nothing.
"""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

from worker.sandbox.process import SandboxedProcess
from worker.sandbox.tiers import Sandbox
from worker.sandbox.walls import Walls

KINDS = ("interpreter", "compiler")
SERVER = Path(__file__).with_name("fork_server.py")
_START_S = 60.0


@contextmanager
def forking(sandbox: Sandbox, kinds: Collection[str] = KINDS) -> Iterator[Sandbox]:
    """``sandbox``, with a server for each of these kinds of runners; whatever else it starts itself."""
    servers: dict[str, _Server] = {}

    def start(
        walls: Walls, program: list[str], descriptors: tuple[int, ...], output: int | None = None
    ) -> SandboxedProcess:
        kind = program[2] if program[0] == "worker.runner" else None
        if kind not in kinds or output is None:
            return sandbox.start(walls, program, descriptors, output)
        if kind not in servers:
            servers[kind] = _Server(sandbox, walls)
        return servers[kind].fork(kind, descriptors[0], output)

    try:
        yield Sandbox(sandbox.name, start, sandbox.needs, sandbox.open_walls)
    finally:
        for server in servers.values():
            server.close()


class _Server:
    """The process that forks the runners of one kind, and our end of its socket."""

    def __init__(self, sandbox: Sandbox, walls: Walls) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        shown = replace(walls, programs=walls.programs | {SERVER.name: SERVER})
        with theirs:
            self._process = sandbox.start(shown, [SERVER.stem, str(theirs.fileno())], (theirs.fileno(),))

    def fork(self, kind: str, channel: int, output: int) -> SandboxedProcess:
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        socket.send_fds(self._orders, [kind.encode()], [channel, output, write_end])
        os.close(write_end)
        number = _line(read_end, _START_S)
        assert number is not None, "the server forks a runner"
        (pid,) = (pid for pid in self._process.pids() if _number_inside(pid) == number)
        return _ForkedProcess(_Forked(pid, read_end))

    def close(self) -> None:
        self._process.kill()
        self._orders.close()


class _Forked:
    """Of ``subprocess.Popen`` what a sandboxed process asks, for one whose end is told by ``told``."""

    def __init__(self, pid: int, told: int) -> None:
        self.pid = pid
        self._told = told
        self._code: int | None = None
        self._one_asks = threading.Lock()

    def poll(self) -> int | None:
        with self._one_asks:  # the watchdog's thread asks too
            if self._code is None:
                self._code = _line(self._told, 0)
                if self._code is not None:
                    os.close(self._told)
            return self._code

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a forked runner", timeout)
            time.sleep(0.002)
        return code


class _ForkedProcess(SandboxedProcess):
    def __init__(self, forked: _Forked) -> None:
        super().__init__(cast("subprocess.Popen[bytes]", forked))

    def kill(self) -> None:
        if self._popen.poll() is None:
            self.pause()
            self._signal(signal.SIGKILL)
        self._wait_for_end()


def _line(descriptor: int, timeout_s: float) -> int | None:
    """The number on the next line, or None when none comes; a server that is killed says that a runner is."""
    if not select.select([descriptor], [], [], timeout_s)[0]:
        return None
    text = b""
    while not text.endswith(b"\n"):
        data = os.read(descriptor, 1)
        if not data:
            return -signal.SIGKILL
        text += data
    return int(text)


def _number_inside(pid: int) -> int | None:
    """The number of a process in its own pid namespace."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("latin-1")
    except (FileNotFoundError, ProcessLookupError):
        return None
    found = re.search(r"^NSpid:.*\t(\d+)$", status, re.MULTILINE)
    return int(found[1]) if found else None
