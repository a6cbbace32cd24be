"""The compile check of the interpreter lane: would a GPU's compiler take these kernels?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from graders.limits import Limits
from graders.manifest import EntryPoint
from graders.memory import Call
from graders.report import Cause, KernelResources
from graders.verdict import Verdict
from worker.judge.arena import HostArena
from worker.judge.attendant import Attendant, NoMoreRunners
from worker.judge.messages import Compiled, CompiledKernel
from worker.judge.outcome import Stopped
from worker.judge.placement import Plan

SHARED_BYTES = {"sm_80": 163 << 10, "sm_90": 227 << 10, "sm_100": 227 << 10}
"""Shared memory that one block can have, by target (CUDA C++ Programming Guide, compute capabilities)."""

MAIN_TARGET = "sm_90"


@dataclass(frozen=True)
class CompileFindings:
    """``stopped`` says why the submission cannot go on; None when everything compiled."""

    stopped: Stopped | None
    kernels: list[KernelResources] = field(default_factory=list)


class CompileCheck:
    """Compiles what the calls launch, in a runner of its own that never launches anything."""

    def __init__(self, attendant: Attendant, entry: EntryPoint, limits: Limits) -> None:
        self._attendant, self._entry, self._limits = attendant, entry, limits

    def run(self, calls: Sequence[Call]) -> CompileFindings:
        """Import the submission and compile for every call, up to the runner's cap of specialisations."""
        try:
            stopped = self._attendant.load()
            if stopped is not None:
                return CompileFindings(stopped)
            plans = [Plan(call, self._entry.parameters) for call in calls]
            arena = HostArena(max(plan.nbytes for plan in plans))
            try:
                return self._compile(arena, plans)
            finally:
                arena.close()
        except NoMoreRunners:
            return CompileFindings(Stopped(Verdict.TIME_LIMIT, _late(self._limits)))

    def confirm(self, call: Call) -> CompileFindings:
        """Compile for one more call, beyond the cap of specialisations."""
        return self.run([call])

    def close(self) -> None:
        self._attendant.close()

    def _compile(self, arena: HostArena, plans: list[Plan]) -> CompileFindings:
        """Nothing runs, so all calls may share the same zeroed memory."""
        stopped = self._attendant.map(arena)
        if stopped is not None:
            return CompileFindings(stopped)
        message = {"type": "compile", "calls": [plan.views() for plan in plans]}
        answer = self._attendant.ask(message, self._limits.compile_s, "compile.time_limit")
        if isinstance(answer, Stopped):
            return CompileFindings(answer)
        if not isinstance(answer, Compiled):
            return CompileFindings(Stopped(Verdict.RUNTIME_ERROR, Cause(key="case.protocol")))
        kernels = [KernelResources(**kernel.model_dump()) for kernel in answer.kernels]
        return CompileFindings(_too_much_shared(answer.kernels), kernels)


def _late(limits: Limits) -> Cause:
    return Cause(key="compile.time_limit", params={"limit_s": limits.compile_s})


def _too_much_shared(kernels: Sequence[CompiledKernel]) -> Stopped | None:
    for kernel in kernels:
        limit = SHARED_BYTES[MAIN_TARGET]
        if kernel.target == MAIN_TARGET and (kernel.shared_bytes or 0) > limit:
            params = {"kernel": kernel.name, "needed_kib": (kernel.shared_bytes or 0) >> 10, "limit_kib": limit >> 10}
            return Stopped(Verdict.COMPILE_ERROR, Cause(key="compile.shared_memory", params={**params}))
    return None
