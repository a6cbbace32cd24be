"""A sandboxed process and all its descendants: started, watched, killed as one."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from worker.sandbox import seccomp, tree_memory
from worker.sandbox.profile import Walls, as_root, command, environment, python_command

_UID_BASE = 64_100
_UID_COUNT = 400
_uids = itertools.cycle(range(_UID_BASE, _UID_BASE + _UID_COUNT))
_uids_lock = threading.Lock()

KILL_WAIT_S = 10.0
STOP_WAIT_S = 0.5
"""How long a tree may take to come to rest: a thread within a system call stops when it leaves it."""

_AT_REST = frozenset("TtZX")


@dataclass(frozen=True)
class Usage:
    """What a process tree holds."""

    memory_bytes: int
    tasks: int


class SandboxedProcess:
    """A program behind walls. ``kill`` ends it with every descendant, whatever it did to hide."""

    def __init__(self, popen: subprocess.Popen[bytes], bare_scratch: Path | None = None) -> None:
        self._popen = popen
        self._bare_scratch = bare_scratch
        self._paused: list[int] = []

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        """The exit status once it has ended: negative for a signal, whichever process of ours reported it."""
        code = self._popen.poll()
        return -(code - 128) if code is not None and code > 128 else code

    def kill(self) -> None:
        """SIGKILL the whole tree and wait until it is gone.

        The first process of the pid namespace is killed by its own id, and its namespace dies with it: the
        signal that bubblewrap's end would send it is the sandboxed program's to lose. bubblewrap itself is stopped
        first: killed while it makes that process, it would leave it waiting for ever.
        """
        if self._popen.poll() is None:
            self._stop_bubblewrap()
            self._signal(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(KILL_WAIT_S)
        if self._bare_scratch is not None:
            shutil.rmtree(self._bare_scratch, ignore_errors=True)

    def _stop_bubblewrap(self) -> None:
        os.kill(self._popen.pid, signal.SIGSTOP)
        deadline = time.monotonic() + STOP_WAIT_S
        while self._popen.poll() is None and not _at_rest(self._popen.pid) and time.monotonic() < deadline:
            time.sleep(0)

    def pause(self) -> None:
        """SIGSTOP the whole tree and wait until it is at rest, for at most ``STOP_WAIT_S``.

        A signal stops a process a moment after it was sent, and what it forks in that moment runs on; a child whose
        parent has ended moves up the tree, past a walk; one that still runs can continue the others. So walks go on
        until two in a row have met nothing but processes at rest, each looked at before its children were listed: at
        rest they neither fork nor end, and what one that still ran continued behind the first walk the second meets.
        """
        deadline = time.monotonic() + STOP_WAIT_S
        met: set[int] = set()
        rested = False
        while True:
            walked, at_rest = _stop_all(self._popen.pid)
            met.update(walked)
            if (at_rest and rested) or self._popen.poll() is not None or time.monotonic() > deadline:
                break
            rested = at_rest
        self._paused = walked if at_rest else list(met)

    def resume(self) -> None:
        """Continue what ``pause`` stopped: its list, without a look at the tree, because the clock may be running."""
        for pid in self._paused:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._paused = []

    def _signal(self, number: signal.Signals) -> None:
        for pid in reversed(self.pids()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def wait(self, timeout_s: float) -> int | None:
        """The exit status, or None when it still runs after ``timeout_s``."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(timeout_s)
        return self.returncode

    def pids(self) -> list[int]:
        """The processes of the tree."""
        return _tree(self._popen.pid)

    def usage(self) -> Usage:
        """Memory of the tree, and its processes and threads. Pages that several share count for each."""
        pids = self.pids()
        return Usage(tree_memory.resident_bytes(pids), sum(map(tree_memory.threads, pids)))

    def exact_memory_bytes(self) -> int:
        """The same memory with shared pages counted once: slower by far, milliseconds a process."""
        return tree_memory.proportional_bytes(self.pids())


def start(
    walls: Walls,
    program: list[str],
    descriptors: tuple[int, ...],
    *,
    output: int | None = None,
    sandboxed: bool = True,
) -> SandboxedProcess:
    """Start ``program`` behind ``walls``; it inherits ``descriptors`` and nothing else.

    ``output`` is a descriptor for its standard output and error (default: discarded).
    Call it from a thread that lives as long as the process may: it dies with the thread that started it.
    """
    sink = subprocess.DEVNULL if output is None else output
    if not sandboxed:
        return _start_bare(walls, program, descriptors, sink)
    if as_root():
        walls = replace(walls, uid=_next_uid())
    filter_fd = seccomp.filter_file()
    try:
        popen = subprocess.Popen(
            command(walls, program, filter_fd),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            pass_fds=(*descriptors, filter_fd),
            start_new_session=True,
            env={},
            cwd="/",
        )
    finally:
        os.close(filter_fd)
    return SandboxedProcess(popen)


def _start_bare(walls: Walls, program: list[str], descriptors: tuple[int, ...], sink: int) -> SandboxedProcess:
    """Without walls, for development: own scratch folder, clean environment, nothing else."""
    scratch = Path(tempfile.mkdtemp(prefix="warpgrade-"))
    root = Path(__file__).resolve().parents[2]
    popen = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "--", *python_command(program, root)],
        stdin=subprocess.DEVNULL,
        stdout=sink,
        stderr=sink,
        pass_fds=descriptors,
        start_new_session=True,
        env=environment(walls, scratch),
        cwd=scratch,
    )
    return SandboxedProcess(popen, scratch)


def _next_uid() -> int:
    """An id of its own for each sandbox: what the kernel counts and checks by user then counts this one alone."""
    with _uids_lock:
        return next(_uids)


def _stop_all(root: int) -> tuple[list[int], bool]:
    """One walk down the tree that stops what runs: the processes it met, and whether all were at rest already."""
    met, frontier, at_rest = [], [root], True
    while frontier:
        pid = frontier.pop()
        met.append(pid)
        if not _at_rest(pid):
            at_rest = False
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        frontier.extend(_children(pid))
    return met, at_rest


def _at_rest(pid: int) -> bool:
    """Whether every thread of a process is stopped or dead. One that is gone is not: its children are elsewhere."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        stats = [Path(f"/proc/{pid}/task/{thread}/stat").read_text("latin-1") for thread in threads]
    except OSError:
        return False
    return bool(stats) and all(stat.rpartition(")")[2].split()[0] in _AT_REST for stat in stats)


def _tree(root: int) -> list[int]:
    """Process ids of ``root`` and its descendants, as far as the kernel lists them."""
    found, frontier = [root], [root]
    while frontier:
        children = _children(frontier.pop())
        found.extend(children)
        frontier.extend(children)
    return found


def _children(pid: int) -> list[int]:
    """The children of every thread of a process; none when it is gone."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found.extend(map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split()))
    return found
