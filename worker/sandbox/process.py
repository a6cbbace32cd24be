"""A sandboxed process and all its descendants: watched, paused and killed as one, whichever tier holds them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from worker.sandbox import tree_memory
from worker.sandbox.process_tree import at_rest, children, switches, tree

KILL_WAIT_S = 10.0
STOP_WAIT_S = 0.5
"""How long a tree may take to come to rest: a thread within a system call stops when it leaves it."""


@dataclass(frozen=True)
class Usage:
    """What a process tree holds. ``scratch_full``: more files than it may, where the kernel does not limit them."""

    memory_bytes: int
    tasks: int
    scratch_full: bool = False


class SandboxedProcess(ABC):
    """A program behind walls. ``kill`` ends it with every descendant, whatever it did to hide."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._popen = popen
        self._paused: list[int] = []
        self._at_rest: dict[tuple[int, int], int] | None = None

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        """The exit status once it has ended: negative for a signal, whichever process of ours reported it."""
        code = self._popen.poll()
        return -(code - 128) if code is not None and code > 128 else code

    @abstractmethod
    def kill(self) -> None:
        """SIGKILL the whole tree and wait until it is gone."""

    def pause(self) -> bool:
        """SIGSTOP the whole tree and wait until it is at rest, for at most ``STOP_WAIT_S``; whether it is.

        A signal stops a process a moment after it was sent, and what it forks in that moment runs on; a child whose
        parent has ended moves up the tree, past a walk; one that still runs can continue the others. So walks go on
        until two in a row have met nothing but processes at rest, each looked at before its children were listed: at
        rest they neither fork nor end, and what one that still ran continued behind the first walk the second meets.
        """
        deadline = time.monotonic() + STOP_WAIT_S
        met: set[int] = set()
        walked: list[int] = []
        resting = rested = False
        while self._popen.poll() is None:  # once it has ended its number may be somebody else's
            walked, resting = _stop_all(self._roots())
            met.update(walked)
            if (resting and rested) or time.monotonic() > deadline:
                break
            rested = resting
        self._paused = walked if resting else list(met)
        self._at_rest = switches(walked) if resting and rested else None
        return self._at_rest is not None

    @property
    def paused(self) -> bool:
        return bool(self._paused)

    def rested(self) -> bool:
        """Whether nothing of the tree has run since ``pause`` found it at rest; if something has, it is paused again.

        The kernel continues what is stopped not for a signal alone: a terminal that hangs up and a process group that
        is orphaned continue theirs, and somebody else's doing may be what brings that about.
        """
        if self._at_rest is not None and switches(self._paused) == self._at_rest:
            return True
        self.pause()
        return False

    def resume(self) -> None:
        """Continue what ``pause`` stopped: its list, without a look at the tree, because the clock may be running."""
        for pid in self._paused:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._paused, self._at_rest = [], None

    def wait(self, timeout_s: float) -> int | None:
        """The exit status, or None when it still runs after ``timeout_s``."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(timeout_s)
        return self.returncode

    def pids(self) -> list[int]:
        """The processes of the tree."""
        return tree(self._popen.pid)

    def usage(self) -> Usage:
        """Memory of the tree, and its processes and threads. Pages that several share count for each."""
        pids = self.pids()
        return Usage(tree_memory.resident_bytes(pids), sum(map(tree_memory.threads, pids)))

    def exact_memory_bytes(self) -> int:
        """The same memory with shared pages counted once: slower by far, milliseconds a process."""
        return tree_memory.proportional_bytes(self.pids())

    def pin(self, cores: Iterable[int]) -> None:
        """Have the first thread of each process run on ``cores``; one that is gone, or not ours to move, stays."""
        for pid in self.pids():
            with contextlib.suppress(OSError):
                os.sched_setaffinity(pid, cores)

    def _roots(self) -> list[int]:
        """Where a walk that stops the tree begins."""
        return [self._popen.pid]

    def _signal(self, number: signal.Signals) -> None:
        for pid in reversed(self.pids()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _wait_for_end(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(KILL_WAIT_S)


def _stop_all(roots: list[int]) -> tuple[list[int], bool]:
    """One walk down the tree that stops what runs: the processes it met, and whether all were at rest already."""
    met, frontier, resting = [], roots, True
    while frontier:
        pid = frontier.pop()
        met.append(pid)
        if not at_rest(pid):
            resting = False
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        frontier.extend(children(pid))
    return met, resting
