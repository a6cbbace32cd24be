"""Two processes that do next to nothing, and count in a page how often they looked for something to do.

What may be asked for: that a terminal's last descriptor becomes garbage on its way through sockets. Whoever closes a
Unix socket next, in any namespace, has the kernel collect it, and the hang-up continues the terminal's session.
"""

import fcntl
import mmap
import os
import signal
import socket
import sys
import termios
import time

from worker.protocol.channel import from_descriptor

page = mmap.mmap(int(sys.argv[2]), mmap.PAGESIZE)


def leave_a_terminal():
    terminal, end = os.openpty()
    fcntl.ioctl(end, termios.TIOCSCTTY, 0)
    here, there = socket.socketpair()
    socket.send_fds(here, [b"x"], [here.fileno(), there.fileno(), terminal])
    socket.send_fds(there, [b"x"], [here.fileno(), there.fileno()])
    for descriptor in (terminal, end, here.detach(), there.detach()):
        os.close(descriptor)


if os.fork():
    signal.pause()
os.setsid()
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from_descriptor(int(sys.argv[1]), 1 << 20).send({"type": "ready"})
while True:
    page[1] = (page[1] + 1) % 256
    if page[0] == 1:
        leave_a_terminal()
        page[0] = 2
    time.sleep(0.001)
