"""Landlock by its three system calls: from a point on, a process reaches the files of an allow-list and no other.

A rule holds for a file or folder and everything below it; there is no rule that takes away. What is not asked about:
``stat``, ``chdir`` and connecting to a socket by its name. Flags and structures: Linux, ``uapi/linux/landlock.h``.
"""

from __future__ import annotations

import ctypes
import os
import stat
from enum import IntFlag

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION = 1
_PATH_BENEATH = 1

REQUIRED_ABI = 2
"""Linux 5.19. Without it no file can be moved between folders, which Triton's cache does."""


class Access(IntFlag):
    """What may be done to a file, or to files in a folder."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


READ = Access.READ_FILE | Access.READ_DIR
WRITE = Access.WRITE_FILE | Access.TRUNCATE
EVERYTHING = ~Access(0)

_OF_FILES = Access.EXECUTE | Access.WRITE_FILE | Access.READ_FILE | Access.TRUNCATE | Access.IOCTL_DEV
_ALL_SINCE = {1: Access.MAKE_SYM, 2: Access.REFER, 3: Access.TRUNCATE, 5: Access.IOCTL_DEV}
"""The last right that each version of the interface knows."""

_SCOPED_SINCE = 6
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2


class _Ruleset(ctypes.Structure):
    _fields_ = [("access_fs", ctypes.c_uint64), ("access_net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("access", ctypes.c_uint64), ("descriptor", ctypes.c_int32)]


def abi() -> int:
    """The version of the interface that the kernel offers; 0 where it offers none."""
    version = ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
    return max(int(version), 0)


def restrict_self(rules: list[tuple[str, int]], version: int) -> None:
    """Leave this process, and what it starts, the files in ``rules`` (a path and the ``Access`` to it) alone.

    ``version`` is the interface to use. All that it knows is asked about; signals and abstract sockets stay inside
    where it can hold them in. Needs no_new_privs. Raises OSError, for a path that cannot be opened too.
    """
    known = _known(version)
    scoped = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if version >= _SCOPED_SINCE else 0
    size = ctypes.sizeof(_Ruleset) if scoped else ctypes.sizeof(ctypes.c_uint64)
    ruleset = _call(_CREATE_RULESET, ctypes.byref(_Ruleset(known, 0, scoped)), ctypes.c_size_t(size), 0)
    try:
        for path, access in rules:
            _add(ruleset, path, access & known)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _known(version: int) -> int:
    last = _ALL_SINCE[max(since for since in _ALL_SINCE if since <= version)]
    return (int(last) << 1) - 1


def _add(ruleset: int, path: str, access: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= _OF_FILES
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(_PathBeneath(access, descriptor)), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = int(libc.syscall(number, *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return result
