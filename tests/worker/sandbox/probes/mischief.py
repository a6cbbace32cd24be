"""Tries what untrusted code would like to do, and says how each try ended."""

import ctypes
import errno
import os
import resource
import socket
import sys
from pathlib import Path

from worker.protocol.channel import from_descriptor

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) != -1:
        return "ok"
    return errno.errorcode[ctypes.get_errno()]


def attempt(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "ok"


from_descriptor(int(sys.argv[1]), 1 << 20).send(
    {
        "type": "mischief",
        "network": attempt(lambda: socket.socket(socket.AF_INET)),
        "ptrace": call("ptrace", 0, 0, 0, 0),
        "unshare": call("unshare", 0x00020000),
        "mount": call("mount", b"none", b"/scratch", b"tmpfs", 0, 0),
        "clone_newuser": call("syscall", 56, 0x10000000 | 17, 0, 0, 0, 0)
        if os.uname().machine == "x86_64"
        else "EPERM",
        "write_usr": attempt(Path("/usr/mine").touch),
        "write_program": attempt(Path(__file__).with_name("worker").joinpath("mine").touch),
        "write_scratch": attempt(Path(os.environ["TMPDIR"], "mine").touch),
        "setuid": attempt(lambda: os.setuid(0)),
        "kill_outside": attempt(lambda: os.kill(int(sys.argv[2]), 0)),
        "survive_parent": call("prctl", 1, 0, 0, 0, 0),
        "shared_memory": call("shmget", 0, 4096, 0o1600),
        "keyring": call("syscall", 250, 0, -3, 1, 0, 0) if os.uname().machine == "x86_64" else "EPERM",
        "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
    }
)
