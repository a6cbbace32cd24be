"""One grading at a time on a GPU: another worker's kernels, copies and calibration would stand in everybody's times."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from graders.verdict import Lane
from worker.supervisor.nvml import NvmlDevice, NvmlUnavailable

_log = logging.getLogger(__name__)

POLL_S = 0.02
"""Less than a busy worker needs from one grading to the next: who waits gets its turn in between."""

_SHARED = (Path("/run/lock"), Path("/dev/shm"))  # noqa: S108
"""Folders that every user may write into and that no service manager makes private, unlike /tmp."""


class LockUnavailable(Exception):
    """The lock cannot be had here at all; the message says why."""


class NoLock:
    """Of a lane without a device."""

    @contextmanager
    def held(self, _waiting: Callable[[], None]) -> Iterator[None]:
        """Nothing is waited for."""
        yield


class DeviceLock:
    """A lock on a GPU, among all workers that see the same folder: two containers have to share one to share a GPU.

    The kernel gives it back with its holder's last breath, so it cannot be left behind. Workers of different users
    share it: whoever can open the file can lock it, and for that nobody needs to write it. A local user who keeps it
    only does what a kernel of theirs on the same GPU does as well.
    """

    def __init__(self, name: str, folder: Path | None = None) -> None:
        """``name`` identifies the GPU on the machine. Raises LockUnavailable for one that is no file's name."""
        if not re.fullmatch(r"[A-Za-z0-9-]+", name):
            raise LockUnavailable(f"{name!r} is no name for a lock")
        self.path = (folder or shared_folder()) / f"warpgrade-{name}.lock"

    @contextmanager
    def held(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold the lock. While another has it, ``waiting`` is called many times a second and may raise to give up.

        Raises LockUnavailable.
        """
        descriptor = self._acquire(waiting)
        try:
            yield
        finally:
            os.close(descriptor)

    def _acquire(self, waiting: Callable[[], None]) -> int:
        told = False
        while True:
            descriptor = open_lock_file(self.path)
            try:
                while not _locked(descriptor):
                    if not told:
                        _log.warning("waiting: another worker is grading on this GPU (%s)", self.path)
                        told = True
                    waiting()
                    time.sleep(POLL_S)
                if is_at(descriptor, self.path):
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # of a file that was deleted meanwhile: others lock the one in its place


def lock_for(lane: Lane, device: NvmlDevice | None) -> DeviceLock | NoLock:
    """The lock of a lane's device, by its identity where NVML tells it. Raises LockUnavailable."""
    if lane is not Lane.GPU:
        return NoLock()
    name = "index-0"
    if device is not None:
        try:
            name = device.uuid()
        except NvmlUnavailable as error:
            _log.warning("NVML: %s. The lock goes by the GPU's number instead.", error)
    return DeviceLock(name)


def shared_folder() -> Path:
    """The first folder that all users may write into and in which none can remove another's files."""
    for folder in _SHARED:
        if folder.is_dir() and folder.stat().st_mode & (stat.S_ISVTX | stat.S_IWOTH) == stat.S_ISVTX | stat.S_IWOTH:
            return folder
    return Path(tempfile.gettempdir())


def open_lock_file(path: Path) -> int:
    """The lock file, made where it is missing, and never what somebody else has put in its place.

    It is opened without ``O_CREAT`` first: in a sticky folder the kernel refuses that for another user's file.
    Raises LockUnavailable.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    while True:
        try:
            descriptor = os.open(path, flags)
            break
        except FileNotFoundError:
            _make(path, flags)
        except OSError as error:
            raise LockUnavailable(f"{path}: {error.strerror}; remove it if no worker runs here") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise LockUnavailable(f"{path} is no ordinary file; remove it if no worker runs here")
    return descriptor


def _make(path: Path, flags: int) -> None:
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        return  # another worker was faster, and theirs is opened next
    except OSError as error:
        raise LockUnavailable(f"{path} cannot be made: {error.strerror}") from error
    os.fchmod(descriptor, 0o644)  # whatever the umask: other users' workers have to read it
    os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is still the one at ``path``."""
    ours = os.fstat(descriptor)
    try:
        there = path.lstat()
    except FileNotFoundError:
        return False
    return (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)
