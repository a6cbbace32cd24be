"""States and verdicts: two fields, never mixed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class State(StrEnum):
    """Where a grading stands. ``done`` and ``cancelled`` are final."""

    QUEUED = "queued"
    COMPILING = "compiling"
    TESTING = "testing"
    MEASURING = "measuring"
    DONE = "done"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        return self in (State.DONE, State.CANCELLED)


class Verdict(StrEnum):
    """What was found, in order of precedence: the first that applies is the submission's."""

    JUDGE_ERROR = "judge_error"
    COMPILE_ERROR = "compile_error"
    POLICY_VIOLATION = "policy_violation"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    RUNTIME_ERROR = "runtime_error"
    WRONG_ANSWER = "wrong_answer"
    ACCEPTED = "accepted"

    @property
    def alias(self) -> str:
        """The short form that contest judges use."""
        return _ALIASES[self]


_ALIASES = {
    Verdict.JUDGE_ERROR: "JE",
    Verdict.COMPILE_ERROR: "CE",
    Verdict.POLICY_VIOLATION: "SV",
    Verdict.TIME_LIMIT: "TLE",
    Verdict.MEMORY_LIMIT: "MLE",
    Verdict.OUTPUT_LIMIT: "OLE",
    Verdict.RUNTIME_ERROR: "RTE",
    Verdict.WRONG_ANSWER: "WA",
    Verdict.ACCEPTED: "AC",
}

PRECEDENCE: tuple[Verdict, ...] = tuple(Verdict)


def foremost(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict that takes precedence. Raises ValueError when there is none: no verdict is not a pass."""
    return min(verdicts, key=PRECEDENCE.index)


class Lane(StrEnum):
    """What a worker judges with."""

    GPU = "gpu"
    INTERPRETER = "interpreter"

    @property
    def queue(self) -> str:
        """The Celery queue that workers of this lane consume."""
        return "gpu" if self is Lane.GPU else "cpu"


class Visibility(StrEnum):
    """How much of a case its author's students see."""

    PUBLIC = "public"
    HINTED = "hinted"
    HIDDEN = "hidden"


class CaseStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
