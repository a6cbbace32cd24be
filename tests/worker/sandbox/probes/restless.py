"""Never rests: processes that fork and end at once, one that continues the others, all writing the time into a page."""

import mmap
import os
import signal
import sys
import time

from worker.protocol.channel import from_descriptor

page = mmap.mmap(int(sys.argv[2]), mmap.PAGESIZE)


def beat():
    page[:8] = time.monotonic_ns().to_bytes(8, "little")


def fork():
    """Whether this is the child; a fork that is refused is no child."""
    try:
        return os.fork() == 0
    except BlockingIOError:
        return False


def run_on():
    """A child that goes on as its parent ends: never in the same place of the tree for long."""
    while True:
        beat()
        if fork():
            os.setsid()
        else:
            os._exit(0)


def wake_the_others():
    while True:
        beat()
        os.kill(-1, signal.SIGCONT)


def multiply():
    while True:
        beat()
        if fork():
            beat()
            os._exit(0)
        os.waitpid(-1, os.WNOHANG)


signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for life in (run_on, run_on, wake_the_others):
    if fork():
        life()
from_descriptor(int(sys.argv[1]), 1 << 20).send({"type": "restless"})
while True:
    beat()
    try:
        multiply()
    except ChildProcessError:
        continue
