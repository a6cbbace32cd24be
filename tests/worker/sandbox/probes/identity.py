"""Tells whose process it is, and stays."""

import os
import signal
import sys

from worker.protocol.channel import from_descriptor

from_descriptor(int(sys.argv[1]), 1 << 20).send({"type": "identity", "uid": os.getuid()})
while True:
    signal.pause()
