"""Keeps one runner of a kind loaded with the submission, and says in a word how it ended when it does."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any, TypeVar

from graders.limits import Limits
from graders.manifest import EntryPoint
from graders.report import Cause
from graders.verdict import Verdict
from worker.judge.arena import Arena
from worker.judge.messages import Failed, Loaded, Mapped, Returned, Said
from worker.judge.outcome import Stopped, from_failure
from worker.judge.runner_link import OutputExceeded, ProtocolError, RunnerGone, RunnerLink, RunnerTimedOut
from worker.judge.supervisor_link import Kind, SupervisorLink
from worker.protocol.doorbell import Doorbell

Answer = TypeVar("Answer", bound=Said)
Heard = TypeVar("Heard")

MAX_REPLACEMENTS = 3
MAX_LATE_IN_A_ROW = 3
"""A program that hangs on three calls running hangs on all of them: the rest is not waited for."""

MAP_WAIT_S = 10.0


class NoMoreRunners(Exception):
    """The submission used up its replacements, or the grading its time."""


class Attendant:
    """Hands calls to a runner. A runner that ends is replaced for the next call, at most ``MAX_REPLACEMENTS`` times."""

    def __init__(
        self, link: SupervisorLink, kind: Kind, source: str, entry: EntryPoint, limits: Limits, deadline: float
    ) -> None:
        self._link, self._kind = link, kind
        self._source, self._entry, self._limits = source, entry, limits
        self._deadline = deadline
        self._runner: RunnerLink | None = None
        self._started = 0
        self._late_in_a_row = 0
        self._output: str | None = None
        self._mapped: Arena | None = None
        self.waited_s = 0.0
        """For the runner, all together."""

    def load(self) -> Stopped | None:
        """Have a runner with the submission imported; what went wrong, or None. Raises NoMoreRunners."""
        if self._runner is not None:
            return None
        hopeless = self._started > MAX_REPLACEMENTS or self._late_in_a_row >= MAX_LATE_IN_A_ROW
        if hopeless or time.monotonic() >= self._deadline:
            raise NoMoreRunners
        self._started += 1
        self._mapped = None
        self._runner = self._link.runner(self._kind)
        message = {
            "type": "load",
            "source": self._source,
            "name": self._entry.name,
            "parameters": self._entry.parameters,
        }
        answer = self._ask(message, Loaded, self._limits.compile_s, "compile.time_limit")
        return answer if isinstance(answer, Stopped) else None

    def map(self, arena: Arena) -> Stopped | None:
        """Give the loaded runner an arena, if it has it not already."""
        if self._mapped is arena:
            return None
        self._mapped = arena
        message = {"type": "map", "nbytes": arena.nbytes, "device": arena.device.type}
        answer = self._ask(message, Mapped, MAP_WAIT_S, "case.time_limit", (arena.descriptor,))
        return answer if isinstance(answer, Stopped) else None

    def ask(self, message: dict[str, Any], expected: type[Answer], timeout_s: float, late_key: str) -> Answer | Stopped:
        """Have the loaded runner answer ``message`` in time; ``late_key`` is the cause when it does not."""
        return self._ask(message, expected, timeout_s, late_key)

    def begin(self, message: dict[str, Any], descriptors: tuple[int, ...]) -> Stopped | None:
        """Tell the loaded runner ``message``, whose answer ``ended`` waits for."""
        heard = self._hear(lambda runner, _: runner.tell(message, descriptors), 1.0, "case.time_limit")
        return heard if isinstance(heard, Stopped) else None

    def ring(self, doorbell: Doorbell, timeout_s: float) -> float | Stopped:
        """Have the loaded runner make the calls that ``doorbell`` was set to: seconds, by the judge's clock."""
        heard = self._hear(lambda runner, limit_s: runner.ring(doorbell, limit_s), timeout_s, "case.time_limit")
        return heard if isinstance(heard, (float, Stopped)) else self._out_of_step()

    def ended(self, expected: type[Answer], timeout_s: float) -> Answer | Stopped:
        """The answer to what was begun."""
        heard = self._hear(lambda runner, limit_s: runner.listen(limit_s), timeout_s, "case.time_limit")
        return heard if isinstance(heard, (expected, Stopped)) else self._out_of_step()

    def pause(self) -> None:
        """Stop the runner's processes until ``resume``."""
        self._link.pause(self._loaded_runner())

    def resume(self) -> None:
        self._link.resume(self._loaded_runner())

    def pin(self) -> None:
        """Have the runner run on the core of the contestants from now on."""
        self._link.pin(self._loaded_runner())

    def take_output(self) -> str | None:
        """What the submission printed since the last time, clipped."""
        if self._runner is not None:
            return self._runner.take_output()
        output, self._output = self._output, None
        return output

    def close(self) -> None:
        if self._runner is not None:
            self._link.end(self._runner)
            self._runner = None

    def _ask(
        self,
        message: dict[str, Any],
        expected: type[Answer],
        timeout_s: float,
        late_key: str,
        descriptors: tuple[int, ...] = (),
    ) -> Answer | Stopped:
        with self._link.share.standing_still():
            heard = self._hear(lambda runner, limit_s: runner.ask(message, limit_s, descriptors), timeout_s, late_key)
        if isinstance(heard, Returned):
            self._late_in_a_row = 0
        return heard if isinstance(heard, (expected, Stopped)) else self._out_of_step()

    def _hear(self, hear: Callable[[RunnerLink, float], Heard], timeout_s: float, late_key: str) -> Heard | Stopped:
        """What ``hear`` hears from the runner within the limit; however it fails to, in a word."""
        runner = self._loaded_runner()
        limit_s = min(timeout_s, max(self._deadline - time.monotonic(), 0.001))
        started = time.monotonic()
        try:
            heard = hear(runner, limit_s)
        except RunnerTimedOut:
            self._late_in_a_row += 1
            return self._end(Stopped(Verdict.TIME_LIMIT, Cause(key=late_key, params={"limit_s": timeout_s})))
        except OutputExceeded:
            cause = Cause(key="case.output_limit", params={"limit_kib": self._limits.output_kib})
            return self._end(Stopped(Verdict.OUTPUT_LIMIT, cause))
        except ProtocolError:
            return self._out_of_step()
        except RunnerGone:
            return self._end(None)
        finally:
            self.waited_s += time.monotonic() - started
        if isinstance(heard, Failed):
            stopped = from_failure(heard.failure, self._entry.signature, lines=self._source.count("\n") + 1)
            # An error of the device sticks to the process, and memory that it took stays taken.
            return self._end(stopped) if heard.failure.kind in ("device", "device_memory") else stopped
        return heard

    def _out_of_step(self) -> Stopped:
        """An answer of no known form, or to another question: whatever came next would be out of step."""
        return self._end(Stopped(Verdict.RUNTIME_ERROR, Cause(key="case.protocol")))

    def _end(self, stopped: Stopped | None) -> Stopped:
        """Kill the runner; where it went by itself, say how."""
        runner = self._loaded_runner()
        self._output = runner.take_output()
        ended = self._link.end(runner, by_itself=stopped is None)
        self._runner = None
        if ended.reason == "memory":
            limit_mib = self._limits.host_memory_mib
            return Stopped(Verdict.MEMORY_LIMIT, Cause(key="case.memory_limit", params={"limit_mib": limit_mib}))
        if ended.reason == "device_memory":
            limit_mib = self._limits.device_memory_mib
            return Stopped(Verdict.MEMORY_LIMIT, Cause(key="case.device_memory_limit", params={"limit_mib": limit_mib}))
        if ended.reason == "tasks":
            return Stopped(Verdict.RUNTIME_ERROR, Cause(key="case.tasks", params={"limit": self._limits.tasks}))
        if ended.reason == "scratch":
            return Stopped(Verdict.RUNTIME_ERROR, Cause(key="case.scratch"))
        return stopped or _vanished(ended.returncode)

    def _loaded_runner(self) -> RunnerLink:
        if self._runner is None:
            raise RuntimeError("a runner is loaded before it is asked")
        return self._runner


def _vanished(returncode: int | None) -> Stopped:
    if returncode is not None and returncode < 0:
        cause = Cause(key="case.signal", params={"signal": _signal_name(-returncode)})
    else:
        cause = Cause(key="case.exited", params={"code": returncode if returncode is not None else 0})
    return Stopped(Verdict.RUNTIME_ERROR, cause)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
