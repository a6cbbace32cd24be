"""Has a process outside of its session that is nobody's child, and stays."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from worker.protocol.channel import from_descriptor

if os.fork() == 0:
    os.setsid()
    subprocess.Popen(
        [sys.executable, "-c", "import pathlib, signal; 'leaver_mark'; pathlib.Path('up').touch(); signal.pause()"],
        start_new_session=True,
    )
    os._exit(0)
while not Path("up").exists():
    time.sleep(0.005)
from_descriptor(int(sys.argv[1]), 1 << 20).send({"type": "leaver"})
signal.pause()
