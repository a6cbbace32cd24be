"""The judge as its supervisor sees it: a process behind walls of its own, spoken to over a socket."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Literal

from graders.verdict import Lane
from worker.device_ledger import DeviceLedger
from worker.protocol.channel import JUDGE_FRAME_BYTES, Channel
from worker.sandbox.devices import gpu_nodes
from worker.sandbox.process import SandboxedProcess
from worker.sandbox.tiers import Sandbox
from worker.sandbox.walls import Walls
from worker.supervisor.warm_ups import WarmUp

START_WAIT_S = 60.0
_ROOT = Path(__file__).resolve().parents[2]
_PROGRAMS = {name: _ROOT / name for name in ("worker", "graders", "reference")}
_SCRATCH_MIB = 2048


class JudgeProcess:
    """A warm judge. It sees no network, no data directory and none of our environment.

    ``ledger`` has what it holds on the device. ``warm_up`` keeps measurements away until it is warm: one that is begun
    and ended under the device lock needs none.
    """

    def __init__(self, lane: Lane, *, sandbox: Sandbox, log: int | None = None, warm_up: WarmUp | None = None) -> None:
        warm_up = warm_up or WarmUp()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.ledger = DeviceLedger()
        walls = Walls(
            programs=_PROGRAMS,
            environment={},
            devices=gpu_nodes() if lane is Lane.GPU else (),
            scratch_mib=_SCRATCH_MIB,
            limited=False,
        )
        try:
            channel, ledger = theirs.fileno(), self.ledger.descriptor
            program = ["worker.judge", str(channel), lane.value, str(ledger), *warm_up.arguments]
            descriptors = (channel, ledger, *warm_up.descriptors)
            self.process: SandboxedProcess = sandbox.start(walls, program, descriptors, output=log)
        finally:
            theirs.close()
            self.ledger.handed_over()
        self.channel = Channel(ours, JUDGE_FRAME_BYTES)
        self._ready = False
        self.tried = False
        """Whether it was given a job before."""

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    def wait_ready(self) -> None:
        """Wait until it takes jobs. Raises TimeoutError or PeerGone."""
        if not self._ready:
            self.channel.receive(START_WAIT_S)
            self._ready = True

    def send_job(self, job: dict[str, object], package: bytes, kind: Literal["grade", "self_test"] = "grade") -> None:
        """Hand over a job with its drill's package, in memory that nobody else has."""
        self.tried = True
        descriptor = os.memfd_create("package", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, package)
            os.lseek(descriptor, 0, os.SEEK_SET)
            self.channel.send({"type": kind, "job": job}, (descriptor,))
        finally:
            os.close(descriptor)

    def kill(self) -> None:
        self.channel.close()
        self.process.kill()
