"""Runners on standby: sandboxed, imported, warm, each waiting for its one submission."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from graders.limits import Limits
from worker.sandbox.devices import gpu_nodes
from worker.sandbox.process import SandboxedProcess
from worker.sandbox.tiers import Sandbox
from worker.sandbox.walls import Walls
from worker.supervisor.warm_ups import NoWarmUps, WarmUp, WarmUps

_WORKER = Path(__file__).resolve().parents[1]
PROGRAMS = {
    "worker/__init__.py": _WORKER / "__init__.py",
    "worker/protocol": _WORKER / "protocol",
    "worker/runner": _WORKER / "runner",
}
_REFERENCE = {"reference": _WORKER.parent / "reference"}
_ON_GPU = ("gpu", "reference")
_ENVIRONMENT = {"TRITON_DEFAULT_FP_FUSION": "1"}
"""As it is by default up to Triton 3.9, which says on standard error that the default will change."""

_KIND_ENVIRONMENT: dict[str, dict[str, str]] = {
    "interpreter": {"TRITON_INTERPRET": "1"},
    "compiler": {},
    "gpu": {"CUDA_MODULE_LOADING": "LAZY"},
    "reference": {"CUDA_MODULE_LOADING": "LAZY"},
}


@dataclass
class Runner:
    """One runner and our ends of its socket and output, which belong to the judge once handed over."""

    id: int
    kind: str
    process: SandboxedProcess
    socket: int
    output: int

    def handed_over(self) -> None:
        """Close our copies of what the judge has now."""
        for descriptor in (self.socket, self.output):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def kill(self) -> None:
        self.process.kill()

    def discard(self) -> None:
        """End one that nobody was handed."""
        self.handed_over()
        self.kill()


class RunnerPool:
    """Keeps ``standby`` runners of each kind warm, behind walls of ``limits``: for which drill is not known yet. They
    warm up when ``warm_ups`` lets them."""

    def __init__(
        self,
        standby: dict[str, int],
        *,
        sandbox: Sandbox,
        limits: Limits,
        warm_ups: WarmUps | NoWarmUps | None = None,
    ) -> None:
        self._wanted = standby
        self._sandbox = sandbox
        self._limits = limits
        self._warm_ups = warm_ups or NoWarmUps()
        self._ids = itertools.count(1)
        self._standby: dict[str, list[Runner]] = {kind: [] for kind in standby}

    def fill(self) -> None:
        """Start what is missing; returns at once, they warm up by themselves.

        Nothing is started while somebody measures on the device. Raises LockUnavailable.
        """
        for kind, wanted in self._wanted.items():
            standby = self._standby[kind] = self._alive(kind)
            for _ in range(wanted - len(standby)):
                with self._warm_ups.begun() as warm_up:
                    if warm_up is not None:
                        standby.append(self._start(kind, warm_up))

    def take(self, kind: str) -> Runner:
        """A runner, the one that has been warming up for longest; a fresh one when none stands by.

        For a holder of the device lock: if somebody measures, it is the holder, who wants the runner all the same.
        Raises LockUnavailable.
        """
        while self._standby.get(kind):
            runner = self._standby[kind].pop(0)
            if runner.process.returncode is None:
                return runner
            runner.discard()
        with self._warm_ups.begun() as warm_up:
            return self._start(kind, warm_up or WarmUp())

    def settle(self, timeout_s: float) -> None:
        """Wait until every runner on standby has said that it is warm, or hung up: until then it uses the GPU."""
        waiting = [runner for runners in self._standby.values() for runner in runners]
        deadline = time.monotonic() + timeout_s
        while waiting and (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([runner.socket for runner in waiting], [], [], left)
            waiting = [runner for runner in waiting if runner.socket not in ready]

    def close(self) -> None:
        for runners in self._standby.values():
            while runners:
                runners.pop().discard()

    def _alive(self, kind: str) -> list[Runner]:
        """Those of a kind that stand by and have not ended."""
        alive = []
        for runner in self._standby[kind]:
            if runner.process.returncode is None:
                alive.append(runner)
            else:
                runner.discard()
        return alive

    def _start(self, kind: str, warm_up: WarmUp) -> Runner:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        walls = Walls(
            programs=PROGRAMS | _REFERENCE if kind == "reference" else PROGRAMS,
            environment=_ENVIRONMENT | _KIND_ENVIRONMENT[kind],
            devices=gpu_nodes() if kind in _ON_GPU else (),
            scratch_mib=self._limits.scratch_mib,
            tasks=self._limits.tasks,
            open_files=self._limits.open_files,
        )
        try:
            program = ["worker.runner", str(theirs.fileno()), kind, *warm_up.arguments]
            process = self._sandbox.start(walls, program, (theirs.fileno(), *warm_up.descriptors), output=write_end)
        finally:
            theirs.close()
            os.close(write_end)
        return Runner(next(self._ids), kind, process, ours.detach(), read_end)
