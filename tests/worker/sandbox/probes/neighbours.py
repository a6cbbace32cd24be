"""Tries to reach what others have on the machine: argument one says what, and the answer how each try ended."""

import ctypes
import errno
import json
import os
import socket
import sys
from functools import partial
from pathlib import Path

from worker.protocol.channel import from_descriptor

PR_SET_DUMPABLE = 4
libc = ctypes.CDLL(None, use_errno=True)
asked = json.loads(sys.argv[2])


def attempt(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "ok"


def call(name, *arguments):
    return "ok" if getattr(libc, name)(*arguments) != -1 else errno.errorcode[ctypes.get_errno()]


def each(name, action):
    return {str(item): attempt(partial(action, item)) for item in asked.get(name, [])}


def connect(name, kind):
    with socket.socket(socket.AF_UNIX, kind) as sock:
        sock.connect(name)


def send_to(name):
    """By a pair, whose ends need no connection to send elsewhere."""
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", name)


def make_in(folder):
    Path(folder, f"mine-{os.getuid()}").touch(exist_ok=False)


from_descriptor(int(sys.argv[1]), 1 << 20).send(
    {
        "type": "neighbours",
        "uid": os.getuid(),
        "read": each("read", lambda path: os.close(os.open(path, os.O_RDONLY))),
        "write": each("write", lambda path: os.close(os.open(path, os.O_WRONLY))),
        "list": each("list", os.listdir),
        "make": each("make", make_in),
        "kill": each("kill", lambda pid: os.kill(pid, 0)),
        "priority": each("kill", lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19)),
        "connect": each("connect", lambda name: connect(name, socket.SOCK_STREAM)),
        "datagram": each("connect", lambda name: connect(name, socket.SOCK_DGRAM)),
        "pair": each("connect", send_to),
        "bind": attempt(lambda: socket.socket(socket.AF_UNIX).bind("\0warpgrade-uid-60600")),
        "queue": call("mq_open", b"/warpgrade", os.O_CREAT | os.O_RDWR, 0o600, None),
        "fanotify": call("fanotify_init", 0x200, 0),
        "hide": call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0),
        "own_comm": attempt(lambda: Path("/proc/self/comm").write_bytes(b"named")),
        "own_memory": attempt(lambda: os.close(os.memfd_create("own"))),
    }
)
