"""``python -m worker.sandbox.warden SPEC_FD CONTROL_FD LOCK_FD STARTING_FD``: starts a program and sees it off.

Of tier B: a small trusted process between a supervisor and what it runs, which there is no pid namespace to hold
together. It is the parent of every descendant that loses its own, so none is lost to it, and its supervisor's end of
``CONTROL_FD`` closes with the supervisor, however that dies. Then, or when the program ends, it kills every process of
the slot's id, and leaves when it has reaped the last one and removed the slot's folder. ``LOCK_FD`` keeps the slot
until that; ``STARTING_FD`` closes when the program has been started.

It signals as an *overseer*: with the slot's id in effect, and two others as its real and its saved one. So its signals
reach all of the slot, and no process of the slot may signal it. One ``kill(-1)`` reaches a fork bomb whole: the kernel
lets a process with a signal pending make no child.

Loads nothing but Python's own modules: it starts in the time that the interpreter takes.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from worker.sandbox import credentials, landlock
from worker.sandbox.process_tree import tree

_CAPABILITIES = (credentials.SETUID, credentials.SETGID, credentials.KILL)
"""The last one is for the day it dies: the kernel asks whether it may send its child the parent-death signal."""

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_INHERITED = (*_IGNORED, signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that are ignored here, by us or by Python, and would be in the program."""

_SWEEP_S = 5.0
"""How long what an earlier sandbox left behind may take to die."""

_POLL_S = 0.002
_KILLED = 128 + signal.SIGKILL


def main(arguments: list[str]) -> None:
    descriptors = spec_fd, control_fd, _lock_fd, starting_fd = [int(argument) for argument in arguments]
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    with os.fdopen(spec_fd, "rb") as file:
        spec: dict[str, Any] = json.load(file)
    spec["starting"] = starting_fd
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    credentials.keep_only(_CAPABILITIES)
    credentials.adopt_orphans()
    os._exit(Warden(spec, socket.socket(fileno=control_fd)).run())


class Warden:
    """One slot's."""

    def __init__(self, spec: dict[str, Any], control: socket.socket) -> None:
        self._spec = spec
        self._own, self._uid, self._overseer = os.getuid(), int(spec["uid"]), int(spec["overseer"])
        self._scratch = Path(spec["scratch"])
        self._control = control

    def run(self) -> int:
        """Sweep, start, watch, end: the exit code."""
        waking, wake = socket.socketpair()
        for end in (waking, wake):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        self._sweep()
        if "command" not in self._spec:
            self._clear()
            return 0
        self._make_scratch()
        program = self._fork(self._start)
        self._let_go_of_descriptors()
        code = self._watch(program, waking)
        self._kill_all()
        self._clear()
        return code

    def _watch(self, program: int, waking: socket.socket) -> int:
        """The exit code of the program, or that of a killed one when the supervisor hung up."""
        poll = select.poll()
        for end in (self._control, waking):
            poll.register(end, select.POLLIN)
        while True:
            ready = [descriptor for descriptor, _ in poll.poll()]
            if waking.fileno() in ready:
                waking.recv(4096)
                for pid, status in _reaped():
                    if pid == program:
                        code = os.waitstatus_to_exitcode(status)
                        return code if code >= 0 else 128 - code
            if self._control.fileno() in ready:
                cores = self._control.recv(4096)
                if not cores:
                    return _KILLED
                self._pin(json.loads(cores))

    def _sweep(self) -> None:
        """End what a sandbox left behind whose warden was killed."""
        deadline = time.monotonic() + _SWEEP_S
        while alive := _living(self._uid):
            if time.monotonic() > deadline:
                raise TimeoutError(f"processes {alive} of the slot's id do not die")
            self._signal_all()
            time.sleep(_POLL_S)
        if self._scratch.exists():
            with self._overseeing():
                empty(self._scratch)

    def _make_scratch(self) -> None:
        """The slot's own folder, made with the slot's id: no capability over files is needed."""
        folder = self._scratch.parent
        folder.chmod(0o733)
        with credentials.files_as(self._uid):
            self._scratch.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o711)

    def _let_go_of_descriptors(self) -> None:
        """What the program was given is its own: its end has to show when it closes it."""
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        for descriptor in (null, *self._spec["descriptors"], self._spec["starting"]):
            os.close(descriptor)

    def _pin(self, cores: list[int]) -> None:
        """Move the program. A child does it: who has the slot's id in effect can be ranked by the program meanwhile."""

        def pin() -> None:
            pids = tree(os.getppid())
            with self._overseeing():
                for pid in pids:
                    with contextlib.suppress(OSError):
                        os.sched_setaffinity(pid, cores)

        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, cores)
            os.waitpid(self._fork(pin), 0)
        with contextlib.suppress(OSError):
            self._control.send(b"pinned")

    def _kill_all(self) -> None:
        """Until the last child is reaped: all descendants are children here, sooner or later."""
        while True:
            self._signal_all()
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            time.sleep(_POLL_S)

    def _clear(self) -> None:
        if self._scratch.exists():
            with self._overseeing():
                empty(self._scratch)
            self._scratch.rmdir()
        empty(self._scratch.parent)
        self._scratch.parent.rmdir()

    def _signal_all(self) -> None:
        with self._overseeing(), contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(-1, signal.SIGKILL)

    @contextlib.contextmanager
    def _overseeing(self) -> Iterator[None]:
        """Signal and reach files with the slot's id, and stay out of its reach."""
        os.setresuid(self._overseer, self._uid, self._own)
        credentials.keep_only(_CAPABILITIES, in_effect=False)  # with CAP_KILL it would signal all
        try:
            yield
        finally:
            credentials.keep_only(_CAPABILITIES)
            os.setresuid(self._own, self._own, self._own)

    def _fork(self, act: Callable[[], None]) -> int:
        parent = os.getpid()
        child = os.fork()
        if child:
            return child
        try:
            signal.set_wakeup_fd(-1)
            credentials.die_with(parent)
            act()
            os._exit(0)
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
            os._exit(127)

    def _start(self) -> None:
        """Become the program. Each step is the last one that needs what the next one takes."""
        spec, warden = self._spec, os.getppid()
        os.setsid()
        credentials.become(self._uid)
        credentials.die_with(warden)
        credentials.no_new_privileges()
        landlock.restrict_self([(path, access) for path, access in spec["rules"]], spec["landlock"])
        for name, value in spec["limits"].items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name.upper()}"), (value, value))
        for number in _INHERITED:
            signal.signal(number, signal.SIG_DFL)
        os.chdir(self._scratch)
        credentials.filter_system_calls(bytes.fromhex(spec["filter"]))
        os.execve(spec["command"][0], spec["command"], spec["environment"])  # noqa: S606


def empty(folder: Path) -> None:
    """Remove everything in ``folder``, however deep it lies and whatever rights it has taken from itself.

    Folders are emptied by moving what is in them up, so that no path gets longer than the system allows.
    """
    folder.chmod(0o700)
    while names := os.listdir(folder):
        for name in names:
            path = folder / name
            if path.is_symlink() or not path.is_dir():
                path.unlink()
                continue
            path.chmod(0o700)
            for child in path.iterdir():
                if child.is_dir() and not child.is_symlink():
                    child.chmod(0o700)
                child.rename(folder / os.urandom(8).hex())
            path.rmdir()


def _reaped() -> list[tuple[int, int]]:
    found = []
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found.append(ended)
    return found


def _living(uid: int) -> list[int]:
    """Processes with that id, whatever they hide of themselves; those that only wait to be reaped do not count."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                rows = [line.split() for line in Path(f"/proc/{name}/status").read_text("latin-1").splitlines()]
                fields = {row[0]: row[1:] for row in rows if row}
                if str(uid) in fields["Uid:"] and fields["State:"][0] != "Z" and int(name) != os.getpid():
                    found.append(int(name))
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
