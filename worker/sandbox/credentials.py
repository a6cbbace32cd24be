"""What a process may do by its ids and capabilities, in Linux's own terms: Python's ``os`` knows half of it."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

SETUID, SETGID, KILL = 7, 6, 5
"""Capabilities, by their numbers in capabilities(7)."""

_NAMES = {SETUID: "CAP_SETUID", SETGID: "CAP_SETGID", KILL: "CAP_KILL"}

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 1, 36, 38, 22
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_INSTRUCTION_BYTES = 8
_libc = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Data(ctypes.Structure):
    _fields_ = [("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def missing_capabilities(wanted: Iterable[int]) -> list[str]:
    """The names of those that this process does not have."""
    held = _capabilities("CapEff")
    return [_NAMES[number] for number in wanted if not held >> number & 1]


def passes_capabilities_on() -> bool:
    """Whether programs that this process starts get capabilities that are not theirs by their id."""
    return _capabilities("CapAmb") != 0


def keep_only(capabilities: Iterable[int], *, in_effect: bool = True) -> None:
    """Give up all other capabilities, and pass none on to programs. Those that are kept can be put ``in_effect`` later.

    Raises OSError for one that is not held.
    """
    mask = sum(1 << number for number in capabilities)
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    data = (_Data * 2)(_Data(mask if in_effect else 0, mask, 0))
    _checked(_libc.capset(ctypes.byref(_Header(_CAPABILITY_VERSION_3, 0)), data))


def become(uid: int) -> None:
    """Be ``uid`` and nobody else, without groups, capabilities or a way back."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    keep_only(())


@contextlib.contextmanager
def files_as(uid: int) -> Iterator[None]:
    """Reach files as ``uid`` does, in this thread alone: /proc shows a process's files to its own id.

    Needs CAP_SETUID and CAP_SETGID.
    """
    gid_before, uid_before = _libc.setfsgid(uid), _libc.setfsuid(uid)
    try:
        yield
    finally:
        _libc.setfsuid(uid_before)
        _libc.setfsgid(gid_before)


def adopt_orphans() -> None:
    """Become the parent of all descendants whose parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when ``parent`` ends. A change of ids takes that back."""
    _prctl(_PR_SET_PDEATHSIG, 9)
    if os.getppid() != parent:
        raise ProcessLookupError("the parent has ended")


def no_new_privileges() -> None:
    """Never gain any by starting a program."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def filter_system_calls(bpf: bytes) -> None:
    """Install a compiled seccomp filter. Needs no_new_privs."""
    program = _Program(len(bpf) // _INSTRUCTION_BYTES, bpf)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _capabilities(field: str) -> int:
    lines = Path("/proc/thread-self/status").read_text("latin-1").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{field}:")), 16)


def _prctl(option: int, *arguments: int) -> None:
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)][:4]
    _checked(_libc.prctl(option, *padded))


def _checked(result: int) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
