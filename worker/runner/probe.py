"""``python -m worker.runner.probe CHANNEL_FD``: tries each wall from inside and says which ones hold."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import socket
import sys
from pathlib import Path

from worker.protocol.channel import RUNNER_FRAME_BYTES, from_descriptor

_CLONE_NEWUSER = 0x10000000
_PTRACE_TRACEME = 0


def holding_walls() -> dict[str, bool]:
    """Each wall, and whether it holds for this process."""
    return {
        "network": not _can_open_network_socket(),
        "processes": all(int(name) <= os.getpid() <= 2 for name in os.listdir("/proc") if name.isdigit()),
        "privileges": os.geteuid() != 0 and _status("CapEff") == "0000000000000000" and _status("NoNewPrivs") == "1",
        "system calls": _denied("unshare", _CLONE_NEWUSER) and _denied("ptrace", _PTRACE_TRACEME, 0, 0, 0),
        "files": not any(importlib.util.find_spec(name) for name in ("app", "graders", "reference")),
        "environment": not any(name.startswith("WARPGRADE") for name in os.environ),
    }


def _can_open_network_socket() -> bool:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    except OSError:
        return False
    return True


def _status(field: str) -> str:
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{field}:"))


def _denied(call: str, *arguments: int) -> bool:
    return bool(getattr(ctypes.CDLL(None, use_errno=True), call)(*arguments) == -1)


if __name__ == "__main__":
    from_descriptor(int(sys.argv[1]), RUNNER_FRAME_BYTES).send({"type": "walls", "holding": holding_walls()})
