"""``python -m fork_server CHANNEL_FD``, behind a sandbox's walls: has imported what every runner imports, and forks one
whenever it is told to. Imports nothing of ours but what the runner's own walls show."""

from __future__ import annotations

import contextlib
import os
import runpy
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path

import torch
import triton.language  # noqa: F401  a runner would import it


def main() -> None:
    torch.set_num_threads(1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers leave nothing that has to be waited for
    orders = socket.socket(fileno=int(sys.argv[1]))
    while True:
        kind, descriptors, *_ = socket.recv_fds(orders, 64, 3)
        if not kind:
            return
        if os.fork() == 0:
            orders.close()
            keep(kind.decode(), *descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)


def keep(kind: str, channel: int, output: int, told: int) -> None:
    """Fork a runner, say its number, and when it has ended how it did. Returns in the runner alone, at its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    scratch = Path(tempfile.mkdtemp(dir=os.environ["TMPDIR"]))
    runner = os.fork()
    if runner == 0:
        os.close(told)
        run(kind, channel, output, scratch)
        return
    os.write(told, b"%d\n" % runner)
    os.close(channel)
    os.close(output)
    _, status = os.waitpid(runner, 0)
    shutil.rmtree(scratch, ignore_errors=True)
    with contextlib.suppress(BrokenPipeError):
        os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def run(kind: str, channel: int, output: int, scratch: Path) -> None:
    """Be a runner as if started anew, with the scratch folder to itself."""
    os.setsid()
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    ours = os.environ["TMPDIR"]
    os.environ.update({name: value.replace(ours, str(scratch)) for name, value in os.environ.items()})
    tempfile.tempdir = None
    os.chdir(scratch)
    sys.argv = ["worker.runner", str(channel), kind]
    runpy.run_module("worker.runner", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
