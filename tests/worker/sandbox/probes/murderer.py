"""Kills all that it may, its warden first, again and again, from several processes that cannot be told apart."""

import contextlib
import os
import signal
import sys

from worker.protocol.channel import from_descriptor

warden = os.getppid()
for _ in range(4):
    if os.fork() == 0:
        while True:
            for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
                with contextlib.suppress(OSError):
                    os.kill(warden, number)
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, warden, 19)
from_descriptor(int(sys.argv[1]), 1 << 20).send({"type": "murderer"})
while True:
    with contextlib.suppress(OSError):
        os.kill(warden, signal.SIGKILL)
