"""Tier B: an id of its own, Landlock and seccomp, where namespaces and mounts are denied, as in a plain container.

There is no pid namespace to hold a sandbox together: a warden does (``warden.py``). The program sees the machine's
files, processes and sockets by name; whom it may touch is a matter of its id, of Landlock's allow-list and of the
system calls that are left to it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from worker.sandbox import credentials, landlock, seccomp, slots, tree_memory
from worker.sandbox.landlock import READ, WRITE, Access
from worker.sandbox.process import KILL_WAIT_S, SandboxedProcess, Usage
from worker.sandbox.process_tree import children, tree
from worker.sandbox.slots import Slot
from worker.sandbox.walls import (
    SYSTEM,
    SYSTEM_FILES,
    SandboxUnavailable,
    Walls,
    environment,
    limits_of,
    of_the_machine,
    own_packages_within,
    python_command,
    python_folders,
)

CAPABILITIES = (credentials.SETUID, credentials.SETGID, credentials.KILL)
NEEDS = (
    "a worker with the capabilities SETUID, SETGID and KILL (root in a container has them unless they are dropped), "
    "Linux 5.19 with Landlock, an interpreter that every user may read, and a tmpfs for the temporary folder"
)

_HARMLESS_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_MOST_FILES = 100_000
"""Files in a scratch folder: a look at it must end."""

_HIDDEN = 1 << 62
"""What is counted for memory or files that a program has hidden from us: more than any limit."""

_BLOCK_BYTES = 512
_PIN_WAIT_S = 5.0


class WardedProcess(SandboxedProcess):
    """A tree below a warden. Closing ``control`` has the warden kill it."""

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        control: socket.socket,
        starting: BinaryIO,
        slot: Slot,
        scratch_mib: int,
    ) -> None:
        super().__init__(popen)
        self._slot = slot
        self._control = control
        self._starting: BinaryIO | None = starting
        self._starting_lock = threading.Lock()
        self._scratch_bytes = scratch_mib << 20

    def kill(self) -> None:
        """Have the warden kill every process of the slot's id, and wait until it has reaped the last one."""
        self._control.close()
        self._has_started(or_never_will=True)
        self._wait_for_end()
        if (self._popen.poll() or 0) < 0:  # a warden reports its program's end, and was itself killed
            _sweep(self._slot)

    def usage(self) -> Usage:
        """As in every tier, with the scratch folder, which no file system limits here."""
        pids = self._below()
        tasks = sum(map(tree_memory.threads, pids))
        with credentials.files_as(self._slot.uid):
            memory = self._memory(pids, tree_memory.resident_bytes)
            return Usage(memory, tasks, _size(self._slot.scratch) > self._scratch_bytes)

    def exact_memory_bytes(self) -> int:
        with credentials.files_as(self._slot.uid):
            return self._memory(self._below(), tree_memory.proportional_bytes)

    def pin(self, cores: Iterable[int]) -> None:
        """Through the warden: moving another id's processes would take one more capability."""
        try:
            self._control.settimeout(_PIN_WAIT_S)
            self._control.send(json.dumps(sorted(cores)).encode())
            self._control.recv(16)
        except OSError:  # it has ended, or is about to
            return

    def _roots(self) -> list[int]:
        return children(self._popen.pid)

    def _below(self) -> list[int]:
        return tree(self._popen.pid)[1:]

    def _memory(self, pids: list[int], count: Callable[[list[int]], int]) -> int:
        return _HIDDEN if self._has_started() and any(map(tree_memory.hides, pids)) else count(pids)

    def _has_started(self, *, or_never_will: bool = False) -> bool:
        """Until it has, what is below the warden is a part of it, which its own id may not look at."""
        with self._starting_lock:
            if self._starting and (or_never_will or select.select([self._starting], [], [], 0)[0]):
                self._starting.close()
                self._starting = None
            return self._starting is None


def start(
    walls: Walls, program: list[str], descriptors: tuple[int, ...], output: int | None = None
) -> SandboxedProcess:
    """As in tier A. Raises SandboxUnavailable where the machine lacks what the tier is made of."""
    _require_means()
    slot = slots.take()
    with contextlib.closing(slot):
        slot.show(walls.programs)
        sink = subprocess.DEVNULL if output is None else output
        warden = _start_warden(_spec(walls, program, descriptors, slot), slot, descriptors, sink)
    return WardedProcess(*warden, slot, walls.scratch_mib)


def _require_means() -> None:
    missing = credentials.missing_capabilities(CAPABILITIES)
    if missing:
        raise SandboxUnavailable(f"the worker has not the capabilities {', '.join(missing)}")
    if landlock.abi() < landlock.REQUIRED_ABI:
        raise SandboxUnavailable(
            f"the kernel offers version {landlock.abi()} of Landlock, and {landlock.REQUIRED_ABI} is needed"
        )


def _sweep(slot: Slot) -> None:
    """End what a warden has left that was killed, unless the slot's next user is at it."""
    again = slots.take_again(slot)
    if again is not None:
        with contextlib.closing(again):
            popen, control, starting = _start_warden(_identity(again), again, (), subprocess.DEVNULL)
        with control, starting, contextlib.suppress(subprocess.TimeoutExpired):
            popen.wait(KILL_WAIT_S)


def _start_warden(
    spec: dict[str, Any], slot: Slot, descriptors: tuple[int, ...], sink: int
) -> tuple[subprocess.Popen[bytes], socket.socket, BinaryIO]:
    """The warden, our end of its control, and what ends when the program has been started."""
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        control, wardens_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.enter_context(control)
        theirs.enter_context(wardens_control)
        starting_fd, wardens_starting = os.pipe2(os.O_CLOEXEC)
        starting = ours.enter_context(os.fdopen(starting_fd, "rb", buffering=0))
        theirs.callback(os.close, wardens_starting)
        spec_fd = os.memfd_create("spec", os.MFD_CLOEXEC)
        theirs.callback(os.close, spec_fd)
        with os.fdopen(os.dup(spec_fd), "wb") as file:
            file.write(json.dumps(spec).encode())
        os.lseek(spec_fd, 0, os.SEEK_SET)
        inherited = (spec_fd, wardens_control.fileno(), slot.lock, wardens_starting)
        popen = subprocess.Popen(
            _warden_command(inherited),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            pass_fds=(*descriptors, *inherited),
            start_new_session=True,
            env=of_the_machine(),
            cwd="/",
        )
        ours.pop_all()
    return popen, control, starting


def _warden_command(descriptors: tuple[int, ...]) -> list[str]:
    """Without site-packages, of which the warden uses none."""
    root = str(Path(__file__).resolve().parents[2])
    start = (
        f"import sys, runpy; sys.path.insert(0, {root!r}); sys.argv[1:] = {list(map(str, descriptors))!r}; "
        "runpy.run_module('worker.sandbox.warden', run_name='__main__', alter_sys=True)"
    )
    return [sys.executable, "-I", "-S", "-B", "-c", start]


def _spec(walls: Walls, program: list[str], descriptors: tuple[int, ...], slot: Slot) -> dict[str, Any]:
    """What the warden has to do."""
    with os.fdopen(seccomp.filter_file(beside_others=True), "rb") as file:
        bpf = file.read()
    return {
        **_identity(slot),
        "command": python_command(program, slot.program),
        "environment": environment(walls, slot.scratch),
        "descriptors": descriptors,
        "rules": list(_rules(walls, slot)),
        "landlock": landlock.abi(),
        "limits": limits_of(walls),
        "filter": bpf.hex(),
    }


def _identity(slot: Slot) -> dict[str, Any]:
    """Enough for a warden that only sweeps."""
    return {"uid": slot.uid, "overseer": slot.overseer, "scratch": str(slot.scratch)}


def _rules(walls: Walls, slot: Slot) -> Iterator[tuple[str, int]]:
    """The allow-list: what tier A would show, and the ways into it."""
    hidden = own_packages_within([*map(Path, SYSTEM), *python_folders()])
    for path in (*map(Path, (*SYSTEM, *SYSTEM_FILES)), *python_folders()):
        if path.exists():
            yield from _without(path.resolve(), hidden)
    for source in walls.programs.values():
        yield str(source.resolve()), READ
    yield str(slot.program), READ
    yield str(slot.scratch), landlock.EVERYTHING
    yield "/proc", READ | WRITE  # of other ids' processes it shows what everybody may know; CUDA writes its own names
    for device in _HARMLESS_DEVICES:
        yield device, Access.READ_FILE | WRITE
    for device in walls.devices:
        yield device, Access.READ_FILE | Access.WRITE_FILE | Access.IOCTL_DEV


def _without(folder: Path, hidden: list[Path]) -> Iterator[tuple[str, int]]:
    """Rules for a folder but for what is ``hidden``: that is listed by name, and cannot be opened."""
    if not any(path.is_relative_to(folder) for path in hidden):
        yield str(folder), READ | Access.EXECUTE
        return
    yield str(folder), Access.READ_DIR
    for child in folder.iterdir():
        target = child.resolve()
        if target.exists() and not any(target.is_relative_to(path) for path in hidden):
            yield from _without(target, hidden)


def _size(folder: Path) -> int:
    """Bytes of the files below ``folder``."""
    found, files, frontier = 0, 0, [str(folder)]
    while frontier:
        try:
            with os.scandir(frontier.pop()) as entries:
                for entry in entries:
                    files += 1
                    if entry.is_dir(follow_symlinks=False):
                        frontier.append(entry.path)
                    else:
                        found += _blocks(entry)
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone between two looks
        except OSError:
            return _HIDDEN
        if files > _MOST_FILES:
            return _HIDDEN
    return found


def _blocks(entry: os.DirEntry[str]) -> int:
    with contextlib.suppress(FileNotFoundError):
        return entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
    return 0
