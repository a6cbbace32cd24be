"""Leaves a tree of processes behind, and files that are hard to remove."""

import os
import signal
import subprocess
import sys

from worker.protocol.channel import from_descriptor

for _ in range(8):
    subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
os.makedirs("closed/inner")
open("closed/inner/file", "w").close()
os.chmod("closed/inner", 0)
os.chmod("closed", 0)
os.symlink("/etc", "link")
os.mkfifo("fifo")
for _ in range(1500):
    os.mkdir("deep")
    os.chdir("deep")
open("file", "w").close()
os.chmod(os.environ["TMPDIR"], 0)
from_descriptor(int(sys.argv[1]), 1 << 20).send({"type": "hoarder"})
signal.pause()
