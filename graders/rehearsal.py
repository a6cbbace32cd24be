"""A drill's code, run once before any submission: it loads, its tests can be drawn, its oracle answers them.

Runs the drill's own code: for the judge alone, under limits of time and memory (``worker.judge.self_test``).
"""

from __future__ import annotations

import ast
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from graders.cases import Case
from graders.drill import Drill, DrillError, load_drill
from graders.memory import Call
from graders.soundness import check_tolerance, trials
from graders.validation import Finding, FindingCode

ANSWERED_NUMEL = 1 << 24
"""The oracle is asked for no more elements than that: a larger test differs in nothing that a smaller cannot show."""

_MESSAGE_CHARACTERS = 500


@dataclass(frozen=True)
class Drawn:
    """A test with its call."""

    case: Case
    call: Call

    @property
    def name(self) -> str:
        return f"{self.case.category}/{self.case.name}"

    @property
    def numel(self) -> int:
        """Elements of all inputs and outputs."""
        layouts = [operand.layout for operand in self.call.inputs] + [out.layout for out in self.call.outs]
        return sum(layout.view_numel for layout in layouts)

    @property
    def memory_mib(self) -> float:
        """What the values of inputs and outputs hold, not what lies between them."""
        inputs = sum(operand.layout.view_numel * operand.values.dtype.itemsize for operand in self.call.inputs)
        outs = sum(out.layout.view_numel * out.dtype.itemsize for out in self.call.outs)
        return (inputs + outs) / 2**20


class Rehearsal:
    """One drill of the tree ``root``. What it finds is in ``findings``; ``drawn`` has the tests that could be drawn."""

    def __init__(self, root: Path, slug: str, memory_mib: int) -> None:
        self._root, self._slug, self._memory_mib = root, slug, memory_mib
        self.findings: list[Finding] = []
        self.drawn: list[Drawn] = []

    def run(self, draw: Callable[[Case], Call], judged: Callable[[Case], bool]) -> None:
        """Load, draw what ``judged`` says can be judged here, ask the oracle, try the tolerance.

        An end that comes from outside, such as a time limit, leaves what was found so far.
        """
        drill = None if self._syntax() else self._load()
        if drill is None:
            return
        self._draw(drill, [case for case in drill.cases if judged(case)], draw)
        if not self.findings:
            self._answer(drill)
        if not self.findings:
            calls = [item.call for item in self.drawn]
            self.findings += check_tolerance(trials(calls, drill.oracle), drill.oracle, drill.policy)

    def place(self, error: BaseException) -> tuple[str | None, int | None]:
        """File, within the package, and line of the drill's code in which an exception was raised."""
        if isinstance(error, SyntaxError) and error.filename and self._within(error.filename):
            return self._within(error.filename), error.lineno
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if (file := self._within(frame.filename)) is not None:
                return file, frame.lineno
        return None, None

    def _within(self, filename: str) -> str | None:
        path = Path(filename)
        return path.relative_to(self._root).as_posix() if path.is_relative_to(self._root) else None

    def _syntax(self) -> bool:
        """Whether Python cannot read one of the drill's modules."""
        paths = [self._root / "reference" / f"{self._slug}.py", *(self._root / "graders" / self._slug).glob("*.py")]
        for path in sorted(paths):
            try:
                ast.parse(path.read_bytes(), str(path))
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                file, line = self._within(str(path)), getattr(error, "lineno", None)
                message = getattr(error, "msg", None) or str(error) or type(error).__name__
                self.findings.append(Finding.of(FindingCode.PYTHON_SYNTAX, file=file, line=line, message=message))
        return bool(self.findings)

    def _load(self) -> Drill | None:
        try:
            return load_drill(self._root, self._slug)
        except DrillError as error:
            if error.__cause__ is None:
                file = self._named(str(error))
                self.findings.append(Finding.of(FindingCode.LOAD_UNUSABLE, file=file, reason=str(error)))
            else:
                self._raised(error.__cause__, FindingCode.LOAD_EXCEPTION)
        except SystemExit as error:
            self._raised(error, FindingCode.LOAD_EXCEPTION)
        return None

    def _named(self, message: str) -> str | None:
        """The file that a DrillError's message begins with."""
        name = message.partition(":")[0].rpartition("/")[2]
        paths = (self._root / "graders" / self._slug / name, self._root / "reference" / name)
        return next((self._within(str(path)) for path in paths if path.is_file()), None)

    def _draw(self, drill: Drill, cases: Sequence[Case], draw: Callable[[Case], Call]) -> None:
        for case in cases:
            name = f"{case.category}/{case.name}"
            try:
                call = draw(case)
                reason = unfit(drill, case, call)
            except (Exception, SystemExit) as error:
                self._raised(error, FindingCode.CASE_EXCEPTION, case=name)
                continue
            if reason is None:
                self.drawn.append(Drawn(case, call))
            else:
                file = f"graders/{self._slug}/cases.py"
                self.findings.append(Finding.of(FindingCode.CASE_CALL, file=file, case=name, reason=reason))

    def _answer(self, drill: Drill) -> None:
        for drawn in self.drawn:
            if drawn.numel > ANSWERED_NUMEL:
                continue
            try:
                outputs = drill.oracle(*(operand.values for operand in drawn.call.inputs))
            except (Exception, SystemExit) as error:
                self._raised(error, FindingCode.ORACLE_EXCEPTION, case=drawn.name)
                continue
            expected = [_described(torch.float64, out.layout.shape) for out in drawn.call.outs]
            got = [_described_output(output) for output in outputs]
            if got != expected:
                answer, wanted, file = ", ".join(got), ", ".join(expected), f"reference/{self._slug}.py"
                code = FindingCode.ORACLE_OUTPUT
                self.findings.append(Finding.of(code, file=file, case=drawn.name, got=answer, expected=wanted))

    def _raised(self, error: BaseException, code: FindingCode, case: str | None = None) -> None:
        file, line = self.place(error)
        if out_of_memory(error):
            code, limit = FindingCode.LOAD_MEMORY_LIMIT, self._memory_mib
            self.findings.append(Finding.of(code, file=file, line=line, case=case, limit_mib=limit))
        else:
            exception, message = type(error).__name__, str(error)[:_MESSAGE_CHARACTERS]
            self.findings.append(
                Finding.of(code, file=file, line=line, case=case, exception=exception, message=message)
            )


def out_of_memory(error: BaseException) -> bool:
    """Whether Python or torch found no memory."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def unfit(drill: Drill, case: Case, call: object) -> str | None:
    """Why a call is none of the drill's entry point, or None."""
    entry = drill.manifest.entry_point
    if not isinstance(call, Call):
        return f"make returned {type(call).__name__}, not Call"
    if (len(call.inputs), len(call.outs)) != (len(entry.inputs), len(entry.outputs)):
        return f"{len(call.inputs)} inputs and {len(call.outs)} outputs, but {entry.signature}"
    for name, operand in zip(entry.inputs, call.inputs, strict=True):
        if tuple(operand.values.shape) != operand.layout.shape:
            return f"{name} has values of shape {tuple(operand.values.shape)} and a layout of {operand.layout.shape}"
    dtypes = {operand.values.dtype for operand in call.inputs} | {out.dtype for out in call.outs}
    if f"torch.{case.dtype}" not in map(str, dtypes):
        return f"it declares {case.dtype}, but has {', '.join(sorted(map(str, dtypes)))}"
    return None


def _described(dtype: torch.dtype, shape: Sequence[int]) -> str:
    return f"{str(dtype).removeprefix('torch.')} {'×'.join(map(str, shape)) or 'scalar'}"


def _described_output(output: object) -> str:
    return _described(output.dtype, output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
