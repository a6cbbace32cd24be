"""The judge's end of its supervisor: runners come from there, progress and the report go there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from graders.limits import Limits
from graders.report import CaseResult, Report
from graders.verdict import State
from worker.judge.device_share import DeviceShare
from worker.judge.runner_link import RunnerLink
from worker.protocol.channel import RUNNER_FRAME_BYTES, Channel, from_descriptor

Kind = Literal["interpreter", "compiler", "gpu", "reference"]
START_WAIT_S = 60.0


@dataclass(frozen=True)
class Ended:
    """How a runner ended. ``reason`` is 'memory', 'tasks', 'scratch' or 'device_memory' if it was stopped for that."""

    reason: str | None
    returncode: int | None


@dataclass
class Pause:
    """Whether the processes came to rest; known when they were waited for."""

    at_rest: bool = False


class SupervisorLink:
    """Requests and news, one grading at a time. ``share`` says when this process stands still on the device."""

    def __init__(self, channel: Channel, limits: Limits, share: DeviceShare) -> None:
        self._channel = channel
        self._limits = limits
        self.share = share

    def runner(self, kind: Kind) -> RunnerLink:
        """A fresh runner that has said it is ready."""
        with self.share.standing_still():
            return self._runner(kind)

    def _runner(self, kind: Kind) -> RunnerLink:
        self._channel.send({"type": "need_runner", "kind": kind})
        message, (sock, output) = self._expect("runner")
        runner = RunnerLink(
            message["id"],
            from_descriptor(sock, RUNNER_FRAME_BYTES),
            output,
            kept_bytes=self._limits.output_kept_kib << 10,
            limit_bytes=self._limits.output_kib << 10,
        )
        runner.listen(START_WAIT_S)
        return runner

    def end(self, runner: RunnerLink, *, by_itself: bool = False) -> Ended:
        """Have the runner and all its descendants killed; one that is going ``by_itself`` may first say how."""
        self._channel.send({"type": "end_runner", "id": runner.id, "by_itself": by_itself})
        message, _ = self._expect("runner_ended")
        runner.close()
        return Ended(message["reason"], message["returncode"])

    @contextlib.contextmanager
    def pausing(self, runner: RunnerLink) -> Iterator[Pause]:
        """At the end of the block the runner's processes are stopped; what it left on the device goes on.

        ``at_rest``: so they are, and those of runners that were stopped before have not run since."""
        self._channel.send({"type": "pause_runner", "id": runner.id})
        pause = Pause()
        try:
            yield pause
        finally:
            message, _ = self._expect("runner_paused")
            pause.at_rest = bool(message["at_rest"])

    def resume(self, runner: RunnerLink) -> None:
        self._channel.send({"type": "resume_runner", "id": runner.id})
        self._expect("runner_resumed")

    def pin(self, runner: RunnerLink) -> None:
        """Have the runner's own thread run on the core of the contestants from now on, and this process elsewhere."""
        self._channel.send({"type": "pin_runner", "id": runner.id})
        self._expect("runner_pinned")

    def state(self, state: State) -> None:
        self._channel.send({"type": "state", "state": state})

    def case(self, result: CaseResult) -> None:
        self._channel.send({"type": "case", "case": result.model_dump(mode="json")})

    def report(self, report: Report) -> None:
        self._channel.send({"type": "report", "report": report.model_dump(mode="json")})

    def _expect(self, kind: str) -> tuple[dict[str, Any], list[int]]:
        message, descriptors = self._channel.receive(START_WAIT_S)
        if message["type"] != kind:
            raise RuntimeError(f"the supervisor answered {message['type']!r} instead of {kind!r}")
        return message, descriptors
