"""What happened to a call, before it is judged: either it came back, or it did not and why."""

from __future__ import annotations

from dataclasses import dataclass

from graders.report import Annotation, Cause, Severity
from graders.verdict import Verdict
from worker.judge.messages import Failure


@dataclass(frozen=True)
class Stopped:
    """A load or a call that did not come back, or came back with an exception."""

    verdict: Verdict
    cause: Cause
    failure: Failure | None = None

    @property
    def interpreter_only(self) -> bool:
        """Whether it was raised inside a kernel, by the interpreter."""
        return self.failure is not None and self.failure.kind == "interpreter"

    def annotation(self) -> Annotation | None:
        """A marker for the editor, where a line of the submission is known."""
        failure = self.failure
        if failure is None or failure.line is None:
            return None
        return Annotation(
            key=self.cause.key,
            params=self.cause.params,
            line=failure.line,
            column=failure.column or None,
            end_line=failure.end_line,
            severity=Severity.ERROR,
        )


def from_failure(failure: Failure, signature: str, lines: int | None = None) -> Stopped:
    """The verdict on what a runner said went wrong in a source of ``lines`` lines: a place beyond them is none."""
    if lines is not None and max(failure.line or 0, failure.end_line or 0) > lines + 1:
        failure = failure.model_copy(update={"line": None, "column": None, "end_line": None})
    line = failure.line or 0
    match failure.kind:
        case "syntax":
            cause = Cause(key="compile.syntax", params={"message": failure.message, "line": line})
        case "missing_entry" | "not_callable":
            cause = Cause(key=f"compile.{failure.kind}", params={"name": failure.name})
        case "signature":
            params = {"name": failure.name, "expected": signature, "got": failure.got}
            cause = Cause(key="compile.signature", params={**params})
        case "device":
            cause = Cause(key="case.device_fault", params={"message": failure.message})
            return Stopped(Verdict.RUNTIME_ERROR, cause, failure)
        case "device_memory":
            cause = Cause(key="case.device_memory", params={"message": failure.message, "line": line})
            return Stopped(Verdict.MEMORY_LIMIT, cause, failure)
        case "kernel":
            cause = Cause(key="compile.kernel", params={"message": failure.message, "line": line})
        case _:
            params = {"exception": failure.exception, "message": failure.message}
            cause = Cause(key="case.exception", params={**params, "line": line})
            return Stopped(Verdict.RUNTIME_ERROR, cause, failure)
    return Stopped(Verdict.COMPILE_ERROR, cause, failure)
