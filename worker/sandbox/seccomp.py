"""The system calls that a sandboxed process is denied.

A deny list: an allow list would break with each driver release. It leaves alone what CUDA and glibc need
(``memfd_create``, ``clone`` for threads). ``clone3`` answers ENOSYS, because its flags lie in memory that a
filter cannot read and glibc then falls back to ``clone``.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import tempfile
from typing import Any

import pyseccomp as seccomp

DENIED = (
    # reading or steering other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_open", "pidfd_getfd", "pidfd_send_signal", "kcmp",
    # a timer's signal continues a process that has been stopped
    "timer_create",
    # kernel surfaces with a history
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "keyctl", "add_key", "request_key",
    # namespaces, mounts and roots
    "mount", "umount2", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
    "setns", "unshare", "chroot", "pivot_root",
    # memory that lives outside of every process and is counted to none
    "shmget", "msgget", "semget",
    # the machine itself
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "swapon", "swapoff", "reboot",
    "name_to_handle_at", "open_by_handle_at", "acct", "quotactl", "settimeofday", "clock_settime",
)  # fmt: skip

DENIED_BESIDE_OTHERS = (
    # queues and marks that outlive a process, names that others could want
    "mq_open", "fanotify_init", "bind",
)  # fmt: skip

_CLONE_NEWUSER = 0x10000000
_EXIT_SIGNAL = 0xFF
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_SOCKET_TYPE = 0xF
_TIOCSTI = 0x5412
_TIOCLINUX = 0x541C


def filter_file(*, beside_others: bool = False) -> int:
    """A descriptor of the compiled filter (BPF); the caller closes it.

    ``beside_others`` is for a process without namespaces of its own: it reaches no socket by its name, and cannot hide
    its memory from whoever counts it.
    """
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    denied = seccomp.ERRNO(errno.EPERM)
    for name in DENIED:
        _add(rules, denied, name)
    _add(rules, denied, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, _CLONE_NEWUSER, _CLONE_NEWUSER))
    # The end of such a child would continue a parent that has been stopped.
    _add(rules, denied, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, _EXIT_SIGNAL, signal.SIGCONT))
    _add(rules, seccomp.ERRNO(errno.ENOSYS), "clone3")
    # Whoever could take the parent-death signal back would outlive a supervisor that is killed.
    pdeathsig = seccomp.Arg(0, seccomp.EQ, _PR_SET_PDEATHSIG)
    _add(rules, denied, "prctl", pdeathsig, seccomp.Arg(1, seccomp.NE, signal.SIGKILL))
    for request in (_TIOCSTI, _TIOCLINUX):
        _add(rules, denied, "ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, request))
    _add(rules, seccomp.ERRNO(errno.EAFNOSUPPORT), "socket", seccomp.Arg(0, seccomp.NE, socket.AF_UNIX))
    if beside_others:
        _add_beside_others(rules, denied)
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.flush()
        descriptor = os.dup(file.fileno())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _add_beside_others(rules: Any, denied: Any) -> None:
    for name in DENIED_BESIDE_OTHERS:
        _add(rules, denied, name)
    # A socket's name is not asked about by Landlock, and may be one that nobody protects. Datagrams need no
    # connection for it; the raw sockets of this family are datagram sockets too.
    _add(rules, seccomp.ERRNO(errno.ECONNREFUSED), "connect")
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        for name in ("socket", "socketpair"):
            datagram = seccomp.Arg(1, seccomp.MASKED_EQ, _SOCKET_TYPE, kind)
            _add(rules, seccomp.ERRNO(errno.EAFNOSUPPORT), name, datagram)
    _add(rules, denied, "prctl", seccomp.Arg(0, seccomp.EQ, _PR_SET_DUMPABLE), seccomp.Arg(1, seccomp.NE, 1))


def _add(rules: Any, action: Any, name: str, *arguments: Any) -> None:
    """Add a rule. A call that this machine's table does not have cannot be made and needs none."""
    if seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) >= 0:
        rules.add_rule(action, name, *arguments)
