"""Without walls, for development: own scratch folder, clean environment, nothing else."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from worker.sandbox.process import SandboxedProcess
from worker.sandbox.walls import Walls, environment, python_command


class BareProcess(SandboxedProcess):
    """A program that nothing holds in. ``kill`` ends the descendants that are still below it."""

    def __init__(self, popen: subprocess.Popen[bytes], scratch: Path) -> None:
        super().__init__(popen)
        self._scratch = scratch

    def kill(self) -> None:
        if self._popen.poll() is None:
            self.pause()
            self._signal(signal.SIGKILL)
        self._wait_for_end()
        shutil.rmtree(self._scratch, ignore_errors=True)


def start(
    walls: Walls, program: list[str], descriptors: tuple[int, ...], output: int | None = None
) -> SandboxedProcess:
    """As in a tier, with the walls' environment alone."""
    sink = subprocess.DEVNULL if output is None else output
    scratch = Path(tempfile.mkdtemp(prefix="warpgrade-"))
    root = Path(__file__).resolve().parents[2]
    popen = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "--", *python_command(program, root)],
        stdin=subprocess.DEVNULL,
        stdout=sink,
        stderr=sink,
        pass_fds=descriptors,
        start_new_session=True,
        env=environment(walls, scratch),
        cwd=scratch,
    )
    return BareProcess(popen, scratch)
