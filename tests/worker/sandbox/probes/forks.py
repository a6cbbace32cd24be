"""Forks until it may not."""

import os
import signal
import sys

from worker.protocol.channel import from_descriptor

forked = 0
try:
    while forked < 500:
        if os.fork() == 0:
            signal.pause()
        forked += 1
except OSError:
    pass
from_descriptor(int(sys.argv[1]), 1 << 20).send({"type": "forks", "forked": forked})
signal.pause()
