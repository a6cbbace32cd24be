"""Ignores every signal it can and everything that its supervisor stops saying."""

import contextlib
import signal
import sys

from worker.protocol.channel import from_descriptor

for number in range(1, signal.NSIG):
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_IGN)
from_descriptor(int(sys.argv[1]), 1 << 20).send({"type": "stubborn"})
while True:
    pass
