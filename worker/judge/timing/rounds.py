"""One timed round: settle, probe, fill, probe, change the peaks, go, done, take the outputs, check them."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import torch

from graders.drill import Drill
from graders.report import Message
from worker.judge.timing.calibration import PROBE_BYTES, Calibration, DeviceClock, Stretch, stretch
from worker.judge.timing.conditions import Conditions
from worker.judge.timing.contestant import Contestant
from worker.judge.timing.spent import Spent

MAX_VOID_IN_A_ROW = 3
MAX_VOID = 12
MAX_THROTTLED = 10
"""At one shape; after that many repetitions a GPU that is always held back is measured as it is."""


class Interference(Exception):
    """Something was on the device that does not belong there, or a time that cannot be."""

    def __init__(self, reason: Message) -> None:
        super().__init__(reason.key)
        self.reason = reason


class WrongOutput(Exception):
    """``count`` elements of a timed round's outputs were wrong."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} wrong elements")
        self.count = count


@dataclass(frozen=True)
class Round:
    """Seconds from go to done, and of the copies that took the outputs after it, by the clock on the wall."""

    seconds: float
    copy_out_s: float


class Rounds:
    """Makes the rounds of one shape. Void ones are repeated until there were too many."""

    def __init__(self, name: str, drill: Drill, calibration: Calibration, conditions: Conditions, spent: Spent) -> None:
        self._name, self._drill, self._calibration, self._conditions = name, drill, calibration, conditions
        self._spent = spent
        self._clock = DeviceClock()
        self._random = random.SystemRandom()
        self._void = self._throttled = 0
        device = torch.device("cuda", 0)
        self._from, self._to = (torch.empty(PROBE_BYTES, dtype=torch.uint8, device=device) for _ in range(2))

    def run(self, contestant: Contestant, count: int, *, checked: bool = True) -> Round:
        """A valid round of ``count`` calls or graphs. Raises Interference, WrongOutput, contestant.Refused."""
        in_a_row = 0
        while True:
            made, evidence = self._once(contestant, count, checked=checked)
            with self._spent.on("conditions"):
                held_back = self._conditions.sample()
            if held_back and self._throttled < MAX_THROTTLED:
                self._throttled += 1
            elif evidence is None:
                return made
            else:
                self._void, in_a_row = self._void + 1, in_a_row + 1
                if in_a_row >= MAX_VOID_IN_A_ROW or self._void >= MAX_VOID:
                    raise Interference(self._reason(evidence))

    def _once(self, contestant: Contestant, count: int, *, checked: bool) -> tuple[Round, Stretch | None]:
        """The contestant is awake from before the first probe to the last copy: what it does before go shows in the
        judge's own operations and is stale once the peaks have changed; what it does after done shows in the copies."""
        slots, calibration = contestant.slots, self._calibration
        values = slots.draw()
        order, used = contestant.draw(count)
        taken = self._random.sample(used, len(used))
        with self._spent.on("settle"):
            contestant.resume()
            contestant.settle()
        own = [
            ("probe", self._clock.timed(self._to.copy_, self._from), calibration.probe_s),
            ("fill", self._clock.timed(slots.fill, values), slots.fill_s(calibration)),
            ("probe", self._clock.timed(self._to.copy_, self._from), calibration.probe_s),
            ("fill", self._clock.timed(slots.place_peaks), slots.place_peaks_s(calibration)),
        ]
        seconds = contestant.run(order)
        copied = self._clock.timed(slots.copy_out, taken)
        own.append(("copy_out", copied, slots.copy_out_s(taken, calibration)))
        self._spent.add("calls", seconds)
        for operation, duration, _ in own:
            self._spent.add(operation, duration.wall_s)
        paused_at = time.perf_counter()
        with self._spent.on("check"), contestant.pausing() as pause:  # it takes as long as the check
            wrong = slots.wrong(used, self._drill) if checked else 0
        if wrong:
            raise WrongOutput(wrong)
        stretches = [stretch(operation, duration.wall_s, expected_s) for operation, duration, expected_s in own]
        if not pause.at_rest:
            stretches.append(Stretch("pause", time.perf_counter() - paused_at, 0.0))
        evidence = next((found for found in stretches if found is not None), None)
        return Round(seconds, copied.wall_s), evidence

    def _reason(self, evidence: Stretch) -> Message:
        params = {
            "shape": self._name,
            "operation": evidence.operation,
            "seen_ms": round(evidence.seconds * 1e3, 3),
            "expected_ms": round(evidence.expected_s * 1e3, 3),
        }
        return Message(key="performance.interference", params={**params})
