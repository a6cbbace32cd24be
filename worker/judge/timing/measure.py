"""The measurement: candidate and reference in randomly interleaved rounds at every shape of the drill.

A round: probe that the device is idle; fill the slots with fresh values and their outputs with poison; probe again;
say go and wait for done, by this process's clock; take the outputs at once and check every one of them. What a round
costs beyond its calls is measured in the reference's runner alone, so nothing that the candidate does is ever
subtracted from its time.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from dataclasses import dataclass

import torch

from graders.drill import Drill
from graders.limits import Limits
from graders.report import Message, Performance, PerformanceStatus, ShapeTiming
from graders.scoring import performance_points
from graders.timed import TimedShape
from worker.judge.attendant import Attendant
from worker.judge.case_run import generator
from worker.judge.device_arena import DeviceArena
from worker.judge.timing.calibration import PROBE_BYTES, Calibration, Stretch
from worker.judge.timing.contestant import GROUP, Contestant, IdleProbe, Refused
from worker.judge.timing.slots import Slots, aligned
from worker.judge.timing.statistics import log_ratio, relative_spread

HALF_WIDTH = 0.005
MIN_ROUNDS, MAX_ROUNDS = 6, 60
SHAPE_BUDGET_S = 2.0
SINGLE_ROUNDS = 8
MAX_VOID = 3
GRAPH_BELOW_S = 50e-6
EAGER_SLOTS, LEAST_SLOTS, SPARE_SLOTS = 20, 6, 2
GRAPHS = 5
MEMORY_SHARE = 0.25
IMPOSSIBLE = 1.15
"""No kernel moves its bytes this much faster than the device copies."""


class Interference(Exception):
    """Something was on the device that does not belong there, or a time that cannot be."""

    def __init__(self, reason: Message) -> None:
        super().__init__(reason.key)
        self.reason = reason


class WrongOutput(Exception):
    """A timed output was wrong."""

    def __init__(self, reason: Message) -> None:
        super().__init__(reason.key)
        self.reason = reason


@dataclass(frozen=True)
class _Plan:
    """How a shape is run here."""

    rows: int
    slots: int
    graphs: bool


@dataclass(frozen=True)
class _Times:
    """Seconds a call, one value a round, and the ratio."""

    candidate_s: list[float]
    reference_s: list[float]
    log_ratio: float
    half_width: float

    @classmethod
    def of(cls, candidate: Contestant, reference: Contestant, singles_s: list[float], count: int) -> _Times:
        """What a round costs beyond its calls (switching the device to the other process, the first launch, the two
        messages) is the same line extended to no call: from the reference's rounds of one and of ``count``."""
        one_s, all_s = statistics.median(singles_s), statistics.median(reference.rounds_s)
        fixed_s = max(0.0, one_s - (all_s - one_s) / (count - 1)) if count > 1 else 0.0
        calls = count * len(reference.units[0])
        lists = [
            [max(seconds - fixed_s, 1e-9) / calls for seconds in contestant.rounds_s]
            for contestant in (candidate, reference)
        ]
        log, width = log_ratio(lists[1], lists[0])
        return cls(lists[0], lists[1], log, width)


class Measurement:
    """Times one submission against the reference."""

    def __init__(
        self,
        drill: Drill,
        candidate: Attendant,
        reference: Attendant,
        calibration: Calibration,
        limits: Limits,
        seed: str,
    ) -> None:
        self._drill, self._candidate, self._reference = drill, candidate, reference
        self._calibration, self._limits, self._seed = calibration, limits, seed
        self._device = torch.device("cuda", 0)
        self._random = random.SystemRandom()
        self._void = 0
        probes = [torch.empty(PROBE_BYTES, dtype=torch.uint8, device=self._device) for _ in range(2)]
        self._probe = IdleProbe(calibration, *probes)

    def run(self) -> Performance:
        """Every shape in turn. Raises WrongOutput, contestant.Refused; interference ends it with its evidence."""
        for attendant in (self._candidate, self._reference):
            stopped = attendant.load()
            if stopped is not None:
                raise Refused(stopped)
        plans = [(shape, self._plan(shape)) for shape in self._drill.shapes]
        nbytes = max(plan.slots * _storage_bytes(shape, plan.rows) for shape, plan in plans)
        arenas = [DeviceArena(nbytes, self._device) for _ in range(2)]
        try:
            return self._performance([self._shape(shape, plan, arenas) for shape, plan in plans])
        except Interference as interference:
            return Performance(status=PerformanceStatus.INTERFERENCE, reason=interference.reason)
        finally:
            for arena in arenas:
                arena.close()
            torch.cuda.empty_cache()

    def _performance(self, timings: list[ShapeTiming]) -> Performance:
        maximum = self._drill.manifest.performance_points
        mean = statistics.fmean(math.log(timing.ratio) for timing in timings)
        width = math.sqrt(sum(timing.half_width**2 for timing in timings)) / len(timings)
        return Performance(
            status=PerformanceStatus.MEASURED,
            points=performance_points([timing.ratio for timing in timings], maximum),
            max_points=maximum,
            ratio=math.exp(mean),
            ratio_ci=(math.exp(mean - width), math.exp(mean + width)),
            shapes=timings,
        )

    def _shape(self, shape: TimedShape, plan: _Plan, arenas: list[DeviceArena]) -> ShapeTiming:
        drawn = generator(self._seed, self._device, "timing", shape.name)
        candidate, reference = (
            Contestant(attendant, Slots(arena, shape, plan.rows, plan.slots, drawn), self._limits)
            for attendant, arena in zip((self._candidate, self._reference), arenas, strict=True)
        )
        self._prepare(candidate, reference, plan)
        return self._rounds(shape, plan, candidate, reference)

    def _plan(self, shape: TimedShape) -> _Plan:
        """As many slots as there is room for; only where that is too few, fewer rows."""
        rows = shape.rows
        room = MEMORY_SHARE * torch.cuda.get_device_properties(self._device).total_memory / 2
        graphs = shape.bytes_moved(rows) / self._calibration.copy_bytes_per_s < GRAPH_BELOW_S
        wanted, least = (GRAPHS * GROUP, 2 * GROUP) if graphs else (EAGER_SLOTS, LEAST_SLOTS)
        while rows > 1 and least * _storage_bytes(shape, rows) > room:
            rows //= 2
        slots = min(wanted, int(room // _storage_bytes(shape, rows)))
        return _Plan(rows, slots - slots % GROUP if graphs else slots, graphs)

    def _prepare(self, candidate: Contestant, reference: Contestant, plan: _Plan) -> None:
        for contestant in (candidate, reference):
            contestant.slots.fill(self._calibration, 1.0)
            contestant.resume()
            contestant.prepare()
        if plan.graphs and not (candidate.capture() and reference.capture()):
            candidate.eager()
            reference.eager()
        candidate.pause()
        reference.pause()

    def _rounds(self, shape: TimedShape, plan: _Plan, candidate: Contestant, reference: Contestant) -> ShapeTiming:
        count = max(1, len(reference.units) - (1 if plan.graphs else SPARE_SLOTS))
        singles_s = [self._round(shape, reference, 1) for _ in range(SINGLE_ROUNDS)]
        deadline = time.monotonic() + SHAPE_BUDGET_S
        for number in range(1, MAX_ROUNDS + 1):
            for contestant in self._random.sample([candidate, reference], 2):
                contestant.rounds_s.append(self._round(shape, contestant, count))
            times = _Times.of(candidate, reference, singles_s, count)
            if number >= MIN_ROUNDS and (times.half_width <= HALF_WIDTH or time.monotonic() > deadline):
                break
        return self._timing(shape, plan, times)

    def _round(self, shape: TimedShape, contestant: Contestant, count: int) -> float:
        """Seconds of one valid round of ``count`` calls or graphs; a void one is repeated until there were too many."""
        while True:
            order, used = contestant.draw(count)
            stretches = [
                self._probe.look(),
                contestant.slots.fill(self._calibration, self._random.choice((0.5, 1.0, 3.0))),
                self._probe.look(),
            ]
            contestant.resume()
            seconds = contestant.run(order)
            stretches.append(contestant.slots.copy_out(used, self._calibration))
            contestant.pause()
            wrong = contestant.slots.wrong(used, self._drill)
            if wrong:
                raise WrongOutput(Message(key="performance.wrong_output", params={"shape": shape.name, "count": wrong}))
            evidence = next((stretch for stretch in stretches if stretch is not None), None)
            if evidence is None:
                return seconds
            self._void += 1
            if self._void >= MAX_VOID:
                raise Interference(_interference(shape, evidence))

    def _timing(self, shape: TimedShape, plan: _Plan, times: _Times) -> ShapeTiming:
        time_s, reference_s = statistics.median(times.candidate_s), statistics.median(times.reference_s)
        moved = shape.bytes_moved(plan.rows)
        least_s = moved / (self._calibration.copy_bytes_per_s * IMPOSSIBLE)
        if time_s < least_s:
            params = {"shape": shape.name, "time_us": round(time_s * 1e6, 2), "least_us": round(least_s * 1e6, 2)}
            raise Interference(Message(key="performance.impossible", params={**params}))
        return ShapeTiming(
            name=shape.name,
            shape=[plan.rows, shape.columns],
            dtype=str(shape.dtype).removeprefix("torch."),
            time_us=time_s * 1e6,
            spread=relative_spread(times.candidate_s),
            reference_us=reference_s * 1e6,
            ratio=math.exp(times.log_ratio),
            half_width=times.half_width,
            rounds=len(times.candidate_s),
            gbps=moved / time_s / 1e9,
            fraction_of_copy=moved / time_s / self._calibration.copy_bytes_per_s,
        )


def _interference(shape: TimedShape, evidence: Stretch) -> Message:
    params = {
        "shape": shape.name,
        "operation": evidence.operation,
        "seen_ms": round(evidence.seconds * 1e3, 3),
        "expected_ms": round(evidence.expected_s * 1e3, 3),
    }
    return Message(key="performance.interference", params={**params})


def _storage_bytes(shape: TimedShape, rows: int) -> int:
    return sum(aligned(place.nbytes) for places in shape.operands(rows) for place in places)
