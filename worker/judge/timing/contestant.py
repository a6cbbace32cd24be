"""One of the two whose time is taken: its runner, its slots, its rounds."""

from __future__ import annotations

import random

import torch

from graders.limits import Limits
from graders.report import Cause
from graders.verdict import Verdict
from worker.judge.attendant import Attendant
from worker.judge.messages import Went
from worker.judge.outcome import Stopped
from worker.judge.timing.calibration import Calibration, DeviceClock, Stretch, stretch
from worker.judge.timing.slots import Slots

WARM_UP_ROUNDS = 3
GROUP = 16
"""Calls in one graph."""


class Refused(Exception):
    """The contestant's runner did not come through; ``stopped`` says how."""

    def __init__(self, stopped: Stopped) -> None:
        super().__init__(stopped.cause.key)
        self.stopped = stopped


class Contestant:
    """Candidate or reference at one shape."""

    def __init__(self, attendant: Attendant, slots: Slots, limits: Limits) -> None:
        self._attendant, self.slots, self._limits = attendant, slots, limits
        self._random = random.SystemRandom()
        self._groups: list[list[int]] | None = None
        self.rounds_s: list[float] = []

    def prepare(self) -> None:
        """Map the slots and make each call once or more, so that nothing is compiled or tuned while timed."""
        self._require(self._attendant.load())
        self._require(self._attendant.map(self.slots.arena))
        messages = [slot.message for slot in self.slots.slots]
        self._ask({"type": "prepare", "slots": messages}, self._limits.case_s)
        everything = list(range(len(messages)))
        self._ask({"type": "go", "order": everything, "graphs": False}, self._limits.compile_s)
        for _ in range(WARM_UP_ROUNDS):
            self._ask({"type": "go", "order": everything, "graphs": False}, self._limits.case_s)

    def capture(self) -> bool:
        """Capture graphs of ``GROUP`` calls. False where the calls cannot be captured, and the runner lives on."""
        count = len(self.slots.slots)
        groups = [list(range(first, first + GROUP)) for first in range(0, count - GROUP + 1, GROUP)]
        message = {"type": "capture", "groups": groups, "nonce": self._nonce()}
        answer = self._attendant.ask(message, Went, self._limits.compile_s, "case.time_limit")
        if isinstance(answer, Stopped):
            return False
        self._groups = groups
        self._ask({"type": "go", "order": list(range(len(groups))), "graphs": True}, self._limits.case_s)
        return True

    def eager(self) -> None:
        """Time single calls, not graphs."""
        self._groups = None

    def pause(self) -> None:
        self._attendant.pause()

    def resume(self) -> None:
        self._attendant.resume()

    def draw(self, count: int) -> tuple[list[int], list[int]]:
        """``count`` calls or graphs in their order, and the slots they use: the submission cannot know beforehand."""
        units = self.units
        order = self._random.sample(range(len(units)), count)
        return order, [slot for unit in order for slot in units[unit]]

    @property
    def units(self) -> list[list[int]]:
        """The slots of each call, or of each graph."""
        return self._groups or [[index] for index in range(len(self.slots.slots))]

    def run(self, order: list[int]) -> float:
        """Seconds from go to done."""
        return self._ask({"type": "go", "order": order, "graphs": self._groups is not None}, self._limits.case_s)

    def _ask(self, message: dict[str, object], timeout_s: float) -> float:
        nonce = self._nonce()
        answer = self._attendant.ask(message | {"nonce": nonce}, Went, timeout_s, "case.time_limit")
        if isinstance(answer, Stopped):
            raise Refused(answer)
        if answer.nonce != nonce:
            # It answered before it was asked: what it says of this round is worth nothing.
            raise Refused(Stopped(Verdict.RUNTIME_ERROR, Cause(key="case.protocol")))
        return self._attendant.elapsed_s

    def _nonce(self) -> int:
        """What an answer has to repeat, so that none can be given in advance."""
        return self._random.getrandbits(62)

    @staticmethod
    def _require(stopped: Stopped | None) -> None:
        if stopped is not None:
            raise Refused(stopped)


class IdleProbe:
    """A copy whose duration alone is known."""

    def __init__(self, calibration: Calibration, source: torch.Tensor, target: torch.Tensor) -> None:
        self._calibration, self._source, self._target = calibration, source, target
        self._clock = DeviceClock()

    def look(self) -> Stretch | None:
        """The evidence that something else is on the device now, or None."""
        return stretch("probe", self._clock.timed(self._target.copy_, self._source), self._calibration.probe_s)
