"""Never rests: processes that fork and end at once, one that continues the others, one that has timers continue it, one
that whoever opens a file continues, all writing the time into a page."""

import contextlib
import ctypes
import fcntl
import mmap
import os
import signal
import sys
import time

from worker.protocol.channel import from_descriptor

WATCHED = b"/etc/ld.so.cache"
F_SETSIG, IN_OPEN = 10, 0x20

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


class Event(ctypes.Structure):
    """``struct sigevent``."""

    _fields_ = [
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("_", ctypes.c_int * 12),
    ]


def wind_itself_up():
    """Timers whose signal continues a stopped process. Each goes off once: what is pending is lost with a stop."""
    libc, event, timers = ctypes.CDLL(None), Event(None, signal.SIGCONT, 0), []
    signal.signal(signal.SIGCONT, lambda *_: None)  # what is ignored is not sent
    for _ in range(40):
        timer = ctypes.c_void_p()
        if libc.timer_create(time.CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)) == 0:
            timers.append(timer)
    while True:
        for number, timer in enumerate(timers, 1):
            libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, number * 1_000_000), None)
        for _ in range(100):
            beat()


def wait_to_be_woken():
    """Have the kernel send the signal that continues a stopped process whenever anybody opens the file."""
    libc = ctypes.CDLL(None)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(watch, WATCHED, IN_OPEN)
    with contextlib.suppress(OSError):
        fcntl.fcntl(watch, F_SETSIG, int(signal.SIGCONT))
    fcntl.fcntl(watch, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(watch, fcntl.F_SETFL, fcntl.fcntl(watch, fcntl.F_GETFL) | os.O_ASYNC)
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    while True:
        beat()


def multiply():
    while True:
        beat()
        if fork():
            beat()
            os._exit(0)
        os.waitpid(-1, os.WNOHANG)


signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for life in (run_on, run_on, wake_the_others, wind_itself_up, wait_to_be_woken):
    if fork():
        life()
from_descriptor(int(sys.argv[1]), 1 << 20).send({"type": "restless"})
while True:
    beat()
    try:
        multiply()
    except ChildProcessError:
        continue
