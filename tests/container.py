"""This process as it would be in a plain container: for tests of tier B, in which nothing may need more than that.

As root, with no capability in effect but those that tier B asks for, and with an interpreter that every user may read:
where root's home is closed to others and Python lies in it, a mount namespace shows the same home, passable.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.processes import wait_until
from worker.sandbox import slots
from worker.sandbox.tier_b import CAPABILITIES
from worker.sandbox.tiers import TIER_A, TIER_B, Sandbox

_CLONE_NEWNS = 0x20000
_MS_BIND, _MS_MOVE, _MS_REC, _MS_PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000
_CAPABILITY_VERSION_3 = 0x20080522
_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def in_tier(name: str) -> Iterator[Sandbox]:
    """A tier by its name, in the setting that it is for. Skips the test where the tier cannot be had by right."""
    if name == TIER_A.name:
        yield TIER_A
        return
    if os.geteuid() != 0:
        pytest.skip("tier B gives each sandbox an id of its own, which takes root")
    with like_a_container():
        yield TIER_B


@contextlib.contextmanager
def like_a_container() -> Iterator[None]:
    """For this thread, and for what it starts; undone at the end."""
    with contextlib.ExitStack() as undo:
        closed = _closed_folder(Path(sys.executable).resolve())
        if closed is not None:
            undo.enter_context(_passable(closed))
        undo.enter_context(_temporary_folder("/dev/shm"))
        undo.enter_context(_capabilities_in_effect(CAPABILITIES))
        yield


def _closed_folder(path: Path) -> Path | None:
    """The first folder on the way to ``path`` that other users may not pass."""
    return next((parent for parent in reversed(path.parents) if not parent.stat().st_mode & 0o001), None)


@contextlib.contextmanager
def _passable(folder: Path) -> Iterator[None]:
    """A mount namespace in which ``folder`` has the same contents and can be passed by everybody."""
    here = Path.cwd()
    before = os.open("/proc/thread-self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    _checked(_libc.unshare(_CLONE_NEWNS))
    _mount(None, Path("/"), None, _MS_REC | _MS_PRIVATE)
    with tempfile.TemporaryDirectory() as name:
        stage = Path(name)
        _mount("tmpfs", stage, "tmpfs", 0)
        stage.chmod(0o755)
        for child in folder.iterdir():
            target = stage / child.name
            if child.is_symlink():
                target.symlink_to(child.readlink())
                continue
            target.mkdir() if child.is_dir() else target.touch()
            _mount(str(child), target, None, _MS_BIND | _MS_REC)
        _mount(str(stage), folder, None, _MS_MOVE)
    os.chdir(here)
    try:
        yield
    finally:
        # The kernel refuses as long as a thread that was started meanwhile is still on its way out.
        wait_until(lambda: _libc.setns(before, _CLONE_NEWNS) == 0, "the namespace is left", 5)
        os.close(before)
        os.chdir(here)


def _mount(source: str | None, target: Path, kind: str | None, flags: int) -> None:
    texts = [text.encode() if text is not None else None for text in (source, str(target), kind)]
    _checked(_libc.mount(*texts, flags, None))


@contextlib.contextmanager
def _temporary_folder(path: str) -> Iterator[None]:
    """Scratch folders are on a tmpfs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slots, "gettempdir", lambda: path)
        yield


@contextlib.contextmanager
def _capabilities_in_effect(numbers: Iterable[int]) -> Iterator[None]:
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    before = (ctypes.c_uint32 * 6)()
    _checked(_libc.capget(header, before))
    fewer = (ctypes.c_uint32 * 6)(*before)
    fewer[0], fewer[3] = sum(1 << number for number in numbers), 0
    _checked(_libc.capset(header, fewer))
    try:
        yield
    finally:
        _checked(_libc.capset(header, before))


def _checked(result: int) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
