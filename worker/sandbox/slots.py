"""Slots of tier B: two user ids and a folder that one sandbox at a time has.

The folder is in the temporary folder::

    warpgrade-slots/60600/program/   links to what is shown of us
    warpgrade-slots/60600/scratch/   the sandboxed program's own, made by its warden

Who has a slot holds its first id, whatever the folders of other workers on the machine.
"""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

from worker.sandbox.held_ids import hold
from worker.sandbox.walls import SandboxUnavailable

FIRST_UID, COUNT = 60_600, 145
"""Two ids a slot that neither Debian nor systemd gives to anybody. Rootless engines have none above 65535. Containers
have as many above them: a signal to all processes of an id reaches from the host into containers."""

_INITIAL_PID_NAMESPACE = 0xEFFFFFFC
"""The inode of a machine's first pid namespace (PROC_PID_INIT_INO in linux/proc_ns.h)."""


@dataclass(frozen=True)
class Slot:
    """``uid`` is the sandboxed program's, ``overseer`` nobody's but the warden's while it signals the program.
    ``lock`` is a descriptor."""

    uid: int
    lock: int
    folder: Path

    @property
    def overseer(self) -> int:
        return self.uid + 1

    @property
    def program(self) -> Path:
        return self.folder / "program"

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch"

    def close(self) -> None:
        """Leave the slot to its warden."""
        os.close(self.lock)

    def show(self, programs: dict[str, Path]) -> None:
        """Lay out links to what the sandboxed program may see of us."""
        shutil.rmtree(self.program, ignore_errors=True)
        for name, source in programs.items():
            link = self.program / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(source.resolve())


def take() -> Slot:
    """A slot that nobody uses, its folder made. The search begins anywhere: the kernel counts an id's processes over
    all containers of a host. Raises SandboxUnavailable."""
    base, lowest = _base(), first_uid()
    first = secrets.randbelow(COUNT)
    for offset in range(COUNT):
        uid = lowest + 2 * ((first + offset) % COUNT)
        slot = _taken(base / str(uid), uid)
        if slot is not None:
            return slot
    raise SandboxUnavailable(f"all {COUNT} slots are in use")


def first_uid() -> int:
    """The lowest id of this machine's slots, or of this container's."""
    return FIRST_UID if _pid_namespace() == _INITIAL_PID_NAMESPACE else FIRST_UID + 2 * COUNT


def take_again(slot: Slot) -> Slot | None:
    """The same slot, if nobody uses it."""
    return _taken(slot.folder, slot.uid)


def _pid_namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _taken(folder: Path, uid: int) -> Slot | None:
    lock = hold(uid)
    if lock is None:
        return None
    folder.mkdir(exist_ok=True)
    folder.chmod(0o711)
    return Slot(uid, lock.detach(), folder)


def _base() -> Path:
    """The folder of all slots. Raises SandboxUnavailable when it cannot be ours alone to write."""
    base = Path(gettempdir()) / "warpgrade-slots"
    try:
        base.mkdir(mode=0o711, exist_ok=True)
        found = base.lstat()
    except OSError as error:
        raise SandboxUnavailable(f"{base}: {error.strerror}; tier B needs a tmpfs there") from error
    if base.is_symlink() or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise SandboxUnavailable(f"{base} is somebody else's; remove it, or set TMPDIR to a folder of the worker's")
    return base
