"""What the compile check asks for, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from graders.limits import Limits
from graders.manifest import EntryPoint
from graders.memory import Call
from graders.report import Cause
from graders.verdict import Verdict
from worker.judge.arena import HostArenas
from worker.judge.attendant import Attendant
from worker.judge.compile_check import CompileCheck
from worker.judge.outcome import Stopped


def test_for_a_submission_that_does_not_import_no_call_is_drawn() -> None:
    refused = Stopped(Verdict.COMPILE_ERROR, Cause(key="compile.import"))

    class Refusing:
        def load(self) -> Stopped:
            return refused

    def calls() -> Iterator[Call]:
        raise AssertionError("a call is drawn")
        yield

    entry = EntryPoint(name="f", inputs=["x"], outputs=["out"])
    check = CompileCheck(cast("Attendant", Refusing()), entry, Limits(), HostArenas())
    assert check.run(calls()).refused is refused
