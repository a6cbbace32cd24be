"""The compile pass: would a GPU's compiler take these kernels?

In the interpreter lane it runs in a runner of its own; on a GPU in the one that runs the tests, which then finds its
kernels compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from graders.limits import Limits
from graders.manifest import EntryPoint
from graders.memory import Call
from graders.report import Cause, KernelResources
from graders.timed import TimedShape
from graders.verdict import Verdict
from worker.judge.arena import Arena, Arenas
from worker.judge.attendant import Attendant, NoMoreRunners
from worker.judge.messages import Compiled, CompiledKernel, Returned
from worker.judge.outcome import Stopped
from worker.judge.placement import Plan, Views
from worker.judge.timing.slots import storage_bytes, timed_views

SHARED_BYTES = {"sm_80": 163 << 10, "sm_90": 227 << 10, "sm_100": 227 << 10}
"""Shared memory that one block can have, by target (CUDA C++ Programming Guide, compute capabilities)."""

MAIN_TARGET = "sm_90"


@dataclass(frozen=True)
class CompileFindings:
    """What the check showed.

    ``refused``: the submission cannot go on, because it does not import or a kernel does not compile.
    ``unfinished``: its host code did not come through in this runner, so the check says nothing about its kernels;
    the tests will tell why, and a submission that passes them all is still not accepted.
    """

    refused: Stopped | None = None
    unfinished: Stopped | None = None
    kernels: list[KernelResources] = field(default_factory=list)


class CompileCheck:
    """Compiles what the calls launch, without launching anything."""

    def __init__(self, attendant: Attendant, entry: EntryPoint, limits: Limits, arenas: Arenas) -> None:
        self._attendant, self._entry, self._limits, self._arenas = attendant, entry, limits, arenas
        self._functions: set[str] = set()

    def run(self, calls: Iterable[Call], shapes: Sequence[tuple[TimedShape, int]] = ()) -> CompileFindings:
        """Import the submission and compile for every call, up to the runner's cap of specialisations.

        ``calls`` are drawn once it has been imported, one at a time: only where their tensors lie is kept. ``shapes``
        are timed shapes with a number of rows, for which it is compiled as well.
        """
        try:
            stopped = self._attendant.load()
            if stopped is not None:
                return CompileFindings(refused=stopped)
            plans = [Plan(call, self._entry.parameters) for call in calls]
            views = [*(plan.views() for plan in plans), *(timed_views(shape, rows) for shape, rows in shapes)]
            sizes = [*(plan.nbytes for plan in plans), *(storage_bytes(shape, rows) for shape, rows in shapes)]
            if not views:
                return CompileFindings()
            arena = self._arenas.take(max(sizes))
            try:
                return self._compile(arena, views)
            finally:
                self._arenas.give_back(arena)
        except NoMoreRunners:
            return CompileFindings(unfinished=Stopped(Verdict.TIME_LIMIT, Cause(key="case.not_run")))

    def confirm(self, call: Call) -> CompileFindings:
        """Compile for one more call, beyond the cap of specialisations."""
        return self.run([call])

    def unseen(self, launched: AbstractSet[str]) -> Stopped | None:
        """What stands against a submission whose tests ``launched`` kernels, by what this check has compiled so far."""
        return judge_launched(launched, self._functions)

    def close(self) -> None:
        self._attendant.close()

    def _compile(self, arena: Arena, views: list[Views]) -> CompileFindings:
        """Nothing is launched, so all calls may share the same zeroed memory."""
        stopped = self._attendant.map(arena)
        if stopped is not None:
            return CompileFindings(unfinished=stopped)
        for view in views:
            answer = self._attendant.ask({"type": "compile", **view}, Returned, self._limits.case_s, "case.time_limit")
            if isinstance(answer, Stopped) and answer.verdict is Verdict.COMPILE_ERROR:
                return CompileFindings(refused=answer)
            if isinstance(answer, Stopped):
                return CompileFindings(unfinished=answer)
        return self._finish()

    def _finish(self) -> CompileFindings:
        answer = self._attendant.ask({"type": "finish"}, Compiled, self._limits.compile_s, "compile.time_limit")
        if isinstance(answer, Compiled):
            self._functions.update(answer.functions)
            kernels = [KernelResources(**kernel.model_dump()) for kernel in answer.kernels]
            return CompileFindings(refused=_too_much_shared(answer.kernels), kernels=kernels)
        if answer.failure is not None:
            # Whatever a compiler raises, it did not take the kernel.
            params = {"message": answer.failure.message, "line": answer.failure.line or 0}
            refused = Stopped(Verdict.COMPILE_ERROR, Cause(key="compile.kernel", params={**params}), answer.failure)
            return CompileFindings(refused=refused)
        return CompileFindings(refused=answer)


def judge_launched(launched: AbstractSet[str], compiled: AbstractSet[str]) -> Stopped | None:
    """What stands against a submission that ``launched`` kernels which were not ``compiled``.

    Where none was, they were hidden from the compiler: on a GPU it would do nothing. One of several may depend on the
    values, which are zeros for the compiler: then the lane without a GPU cannot judge it.
    """
    if launched <= compiled:
        return None
    if not compiled:
        return Stopped(Verdict.COMPILE_ERROR, Cause(key="compile.nothing_compiled"))
    return Stopped(Verdict.JUDGE_ERROR, Cause(key="judge.kernel_not_compiled"))


def _too_much_shared(kernels: Sequence[CompiledKernel]) -> Stopped | None:
    for kernel in kernels:
        limit = SHARED_BYTES[MAIN_TARGET]
        if kernel.target == MAIN_TARGET and (kernel.shared_bytes or 0) > limit:
            params = {"kernel": kernel.name, "needed_kib": (kernel.shared_bytes or 0) >> 10, "limit_kib": limit >> 10}
            return Stopped(Verdict.COMPILE_ERROR, Cause(key="compile.shared_memory", params={**params}))
    return None
