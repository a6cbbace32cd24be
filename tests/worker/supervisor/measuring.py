"""Another worker that measures on the GPU, as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from worker.supervisor.device_lock import DeviceLock
from worker.supervisor.warm_ups import WarmUps

NAME = "GPU-0a1b2c3d"
_MEASURING = """
import sys
from pathlib import Path
from tests.worker.supervisor.measuring import never, warm_ups_in
warm_ups = warm_ups_in(Path(sys.argv[1]))
if not warm_ups.keep_out(0, never):
    sys.exit("something warms up")
print("measuring", flush=True)
sys.stdin.read()
"""


def warm_ups_in(folder: Path) -> WarmUps:
    """Those of a GPU whose lock is in ``folder``."""
    return WarmUps(DeviceLock(NAME, folder))


def never() -> None:
    """Who waits goes on waiting."""


class GivenUp(Exception):
    """The test does not wait."""


def give_up() -> None:
    raise GivenUp


@contextmanager
def measuring(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A worker that measures until the block ends; gone after it."""
    command = [sys.executable, "-c", _MEASURING, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "measuring\n"
        yield worker
