"""One of those whose time is taken: its runner, its slots, its calls."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

import torch

from graders.limits import Limits
from worker.judge.arena import Arena
from worker.judge.attendant import Attendant
from worker.judge.messages import Captured, Compiled, Returned, Went
from worker.judge.outcome import Stopped
from worker.judge.placement import Views
from worker.judge.supervisor_link import Pause
from worker.judge.timing.slots import Slots
from worker.protocol.doorbell import Doorbell

WARM_UP_ROUNDS = 3
GROUP = 16
"""Calls in one graph."""


class Refused(Exception):
    """The contestant's runner did not come through; ``stopped`` says how."""

    def __init__(self, stopped: Stopped) -> None:
        super().__init__(stopped.cause.key)
        self.stopped = stopped


def compile_begin(
    attendant: Attendant, arena: Arena, views: list[Views], limits: Limits, function: str | None = None
) -> None:
    """Load the runner and have it compile what calls with ``views`` launch; ``compile_end`` waits for it.

    ``function`` as a ``Contestant`` has it.
    """
    _require(attendant.load())
    _require(attendant.map(arena))
    for view in views:
        message = {"type": "compile", "function": function, **view}
        _require(attendant.ask(message, Returned, limits.case_s, "case.time_limit"))
    _require(attendant.begin({"type": "finish"}, ()))


def compile_end(attendant: Attendant, limits: Limits) -> None:
    _require(attendant.ended(Compiled, limits.compile_s))


def _require(answer: object) -> None:
    if isinstance(answer, Stopped):
        raise Refused(answer)


class Contestant:
    """A function at one shape: the submission's, or one of the reference's module (``function`` names another than
    its entry point)."""

    def __init__(self, attendant: Attendant, slots: Slots, limits: Limits, function: str | None = None) -> None:
        self._attendant, self.slots, self._limits, self._function = attendant, slots, limits, function
        self._random = random.SystemRandom()
        self._groups: list[list[int]] | None = None
        self._doorbell: Doorbell | None = None

    def prepare(self) -> None:
        """Wake the runner, map the slots and make each call once, so that nothing is compiled or tuned while timed.

        What it is called with has values as a round has, not what empty slots hold.
        """
        _require(self._attendant.load())
        self.slots.fill(self.slots.draw())
        self.slots.place_peaks()
        torch.cuda.synchronize()  # another process is about to read it
        self._attendant.resume()
        _require(self._attendant.map(self.slots.arena))
        slots = [slot.message for slot in self.slots.slots]
        message = {"type": "prepare", "slots": slots, "function": self._function}
        _require(self._attendant.ask(message, Went, self._limits.compile_s, "case.time_limit"))

    def capture(self) -> bool:
        """Capture graphs of ``GROUP`` calls. False where the calls cannot be captured."""
        count = len(self.slots.slots)
        groups = [list(range(first, first + GROUP)) for first in range(0, count - GROUP + 1, GROUP)]
        message = {"type": "capture", "groups": groups}
        answer = self._attendant.ask(message, Captured, self._limits.compile_s, "case.time_limit")
        if isinstance(answer, Stopped):
            raise Refused(answer)
        self._groups = groups if answer.all else None
        return answer.all

    def begin(self) -> None:
        """Have the runner wait for rounds, and make a few that do not count."""
        self._doorbell = Doorbell()
        _require(self._attendant.begin({"type": "rounds"}, (self._doorbell.descriptor,)))
        for _ in range(WARM_UP_ROUNDS):
            self.run(list(range(len(self.units))))

    def end(self) -> None:
        """No more rounds at this shape."""
        if self._doorbell is not None:
            self._doorbell.set([], graphs=False)
            self._doorbell.ring()
            _require(self._attendant.ended(Went, self._limits.case_s))
            self._doorbell.close()

    def pause(self) -> None:
        self._attendant.pause()

    @contextlib.contextmanager
    def pausing(self) -> Iterator[Pause]:
        """Paused at the end of the block, and on the way there within it."""
        with self._attendant.pausing() as pause:
            yield pause

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

    def settle(self) -> None:
        """Make one call or replay that does not count: then the core and the device have served this contestant last,
        whoever ran before."""
        self.run(self.draw(1)[0])

    def run(self, order: list[int]) -> float:
        """Seconds from go to done."""
        if self._doorbell is None:
            raise RuntimeError("a contestant begins before it runs")
        self._doorbell.set(order, graphs=self._groups is not None)
        seconds = self._attendant.ring(self._doorbell, self._limits.case_s)
        if isinstance(seconds, Stopped):
            raise Refused(seconds)
        return seconds
