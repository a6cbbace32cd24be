"""The measurement: candidate and reference in randomly interleaved rounds at every shape of the drill.

What a round costs beyond its calls is measured in the reference's runner alone, so nothing that the candidate does is
ever subtracted from its time; and where it was not done when it said so, the time that this costs the judge is added.
"""

from __future__ import annotations

import contextlib
import gc
import math
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import torch

from graders.drill import Drill
from graders.report import Message, Performance, PerformanceStatus, ShapeTiming
from graders.scoring import performance_points
from graders.timed import TimedShape
from worker.job import Job
from worker.judge.attendant import Attendant
from worker.judge.case_run import generator
from worker.judge.device_arena import DeviceArena
from worker.judge.timing.baselines import Baselines, call_s
from worker.judge.timing.calibration import Calibration
from worker.judge.timing.conditions import Conditions
from worker.judge.timing.contestant import GROUP, Contestant, Refused, compile_begin, compile_end
from worker.judge.timing.rounds import Interference, Round, Rounds, WrongOutput
from worker.judge.timing.slots import Slots, storage_bytes, timed_views
from worker.judge.timing.spent import Spent
from worker.judge.timing.statistics import lateness, log_ratio, relative_spread

HALF_WIDTH = 0.005
MIN_ROUNDS, MAX_ROUNDS = 8, 120
SHAPE_BUDGET_S = 2.0
SINGLE_ROUNDS = 6
CHECKED_OF_REFERENCE = 4
"""The reference's outputs are checked in every so many of its rounds: it is ours, and was checked when it was called
alone. The submission's are checked in all."""
ROUND_S = 4e-3
"""What the calls of a round take at least, at the device's copy speed, if there is room for as many slots: a round
has a spread of its own of some tens of microseconds."""
GRAPH_BELOW_S = 50e-6
LEAST_SLOTS, SPARE_SLOTS = 6, 2
GRAPHS = 5
MEMORY_SHARE = 0.25
IMPOSSIBLE = 1.15
"""No kernel moves its bytes this much faster than the device copies."""


class WrongTimedOutput(Exception):
    """The submission's output at a timed shape was wrong."""

    def __init__(self, reason: Message) -> None:
        super().__init__(reason.key)
        self.reason = reason


class ReferenceFailed(Exception):
    """The drill's own reference did not come through: no fault of the submission."""


@dataclass(frozen=True)
class Instruments:
    """What a judge keeps from grading to grading."""

    calibration: Calibration
    baselines: Baselines


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
    def of(cls, candidate: list[Round], reference: list[Round], singles: list[Round], calls: int, count: int) -> _Times:
        """Of rounds of ``calls`` calls, which the reference makes in ``count`` launches of its own: calls or graphs.

        What a round costs beyond its calls (switching the device to the other process, the first launch) is the same
        line extended to no call: from the reference's rounds of one launch and of ``count``. Where the outputs take
        longer to be taken after the candidate's rounds, it was not done, and that time is added.
        """
        one_s, all_s = (statistics.median(made.seconds for made in rounds) for rounds in (singles, reference))
        fixed_s = max(0.0, one_s - (all_s - one_s) / (count - 1)) if count > 1 else 0.0
        late_s = lateness([made.copy_out_s for made in candidate], [made.copy_out_s for made in reference])
        candidate_s, reference_s = (
            [max(made.seconds - fixed_s + more_s, 1e-9) / calls for made, more_s in zip(rounds, late, strict=True)]
            for rounds, late in ((candidate, late_s), (reference, [0.0] * len(reference)))
        )
        return cls(candidate_s, reference_s, *log_ratio(reference_s, candidate_s))


class Measurement:
    """Times one submission against the reference."""

    def __init__(
        self, job: Job, drill: Drill, candidate: Attendant, reference: Attendant, instruments: Instruments
    ) -> None:
        self._job, self._drill = job, drill
        self._candidate, self._reference = candidate, reference
        self._calibration, self._baselines = instruments.calibration, instruments.baselines
        self._device = torch.device("cuda", 0)
        self._random = random.SystemRandom()
        self._conditions = Conditions.of_device()
        self.spent = Spent()

    def run(self) -> Performance:
        """Every shape in turn. Raises WrongTimedOutput, Refused, ReferenceFailed; interference is a result."""
        torch.cuda.empty_cache()  # what the cases needed
        plans = [(shape, self._plan(shape)) for shape in self._drill.shapes]
        nbytes = max(plan.slots * storage_bytes(shape, plan.rows) for shape, plan in plans)
        arenas = [DeviceArena(nbytes, self._device) for _ in range(2)]
        gc.disable()
        try:
            with self.spent.on("compile"):
                self._compile(plans, arenas)
            for attendant in (self._candidate, self._reference):
                attendant.pin()
                attendant.pause()
            return self._performance([self._shape(shape, plan, arenas) for shape, plan in plans])
        except Interference as interference:
            return Performance(status=PerformanceStatus.INTERFERENCE, reason=interference.reason)
        finally:
            gc.enable()
            for arena in arenas:
                arena.close()
            torch.cuda.empty_cache()

    def _compile(self, plans: list[tuple[TimedShape, _Plan]], arenas: list[DeviceArena]) -> None:
        """Have both compile what the shapes need, side by side and each in threads: once they are pinned to one core
        it would take seconds."""
        views = [timed_views(shape, plan.rows) for shape, plan in plans]
        compile_begin(self._candidate, arenas[0], views, self._job.limits)
        with _reference_is_ours():
            compile_begin(self._reference, arenas[1], views, self._job.limits, self._drill.timed_reference)
        compile_end(self._candidate, self._job.limits)
        with _reference_is_ours():
            compile_end(self._reference, self._job.limits)

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
            conditions=self._conditions.summary(),
        )

    def _plan(self, shape: TimedShape) -> _Plan:
        """As many slots as a round wants and there is room for; only where that is too few, fewer rows."""
        rows = shape.rows
        room = MEMORY_SHARE * torch.cuda.get_device_properties(self._device).total_memory / 2
        least_s = shape.bytes_moved(rows) / self._calibration.copy_bytes_per_s
        graphs = least_s < GRAPH_BELOW_S
        wanted, least = (GRAPHS * GROUP, 3 * GROUP) if graphs else (math.ceil(ROUND_S / least_s), LEAST_SLOTS)
        while rows > 1 and least * storage_bytes(shape, rows) > room:
            rows //= 2
        slots = min(max(wanted, least) + SPARE_SLOTS, int(room // storage_bytes(shape, rows)))
        return _Plan(rows, slots - slots % GROUP if graphs else slots, graphs)

    def _shape(self, shape: TimedShape, plan: _Plan, arenas: list[DeviceArena]) -> ShapeTiming:
        drawn = generator(self._job.seed, self._device, "timing", shape.name)
        slots = [Slots(arena, shape, plan.rows, plan.slots, drawn) for arena in arenas]
        rounds = Rounds(shape.name, self._drill, self._calibration, self._conditions, self.spent)
        candidate = Contestant(self._candidate, slots[0], self._job.limits)
        reference = Contestant(self._reference, slots[1], self._job.limits, self._drill.timed_reference)
        with _reference_is_ours():
            baseline_s = self._measure_baselines(shape, plan, slots[1], rounds)
        with self.spent.on("prepare"):
            self._prepare(candidate, reference, plan)
        times = self._interleave(shape, rounds, candidate, reference)
        self._end(candidate, reference)
        return self._timing(shape, plan, times, baseline_s)

    def _measure_baselines(self, shape: TimedShape, plan: _Plan, slots: Slots, rounds: Rounds) -> dict[str, float]:
        """Seconds a call of the functions that the drill's reference has beside its entry point."""

        def measured(function: str) -> float:
            contestant = Contestant(self._reference, slots, self._job.limits, function)
            return call_s(contestant, rounds, graphs=plan.graphs, checked=function != "copy_baseline")

        known = {
            function: self._baselines.seconds(self._job.digest, shape.name, function, partial(measured, function))
            for function in self._drill.baselines
        }
        return {function: seconds for function, seconds in known.items() if seconds is not None}

    def _prepare(self, candidate: Contestant, reference: Contestant, plan: _Plan) -> None:
        """Who cannot be captured makes single calls, and pays for its launches where the other does not."""
        candidate.prepare()
        with _reference_is_ours():
            reference.prepare()
            captured = plan.graphs and reference.capture()
        if captured:
            candidate.capture()
        candidate.begin()
        candidate.pause()
        with _reference_is_ours():
            reference.begin()
            reference.pause()

    @staticmethod
    def _end(candidate: Contestant, reference: Contestant) -> None:
        """Both stand still again: what is measured next is none of the candidate's."""
        candidate.resume()
        candidate.end()
        candidate.pause()
        with _reference_is_ours():
            reference.resume()
            reference.end()
            reference.pause()

    def _interleave(self, shape: TimedShape, rounds: Rounds, candidate: Contestant, reference: Contestant) -> _Times:
        count = max(1, len(reference.units) - (1 if len(reference.units[0]) > 1 else SPARE_SLOTS))
        calls = count * len(reference.units[0])
        ours = [self._reference_round(rounds, reference, 1) for _ in range(SINGLE_ROUNDS)]
        made: dict[Contestant, list[Round]] = {candidate: [], reference: []}
        deadline = time.monotonic() + SHAPE_BUDGET_S
        while True:
            for contestant in self._random.sample([candidate, reference], 2):
                if contestant is reference:
                    checked = len(made[reference]) % CHECKED_OF_REFERENCE == 0
                    made[reference].append(self._reference_round(rounds, reference, count, checked=checked))
                else:
                    launches = calls // len(candidate.units[0])
                    made[candidate].append(self._candidate_round(shape, rounds, candidate, launches))
            number = len(made[reference])
            times = _Times.of(made[candidate], made[reference], ours, calls, count)
            enough = times.half_width <= HALF_WIDTH or time.monotonic() > deadline
            if (number >= MIN_ROUNDS and enough) or number >= MAX_ROUNDS:
                return times

    @staticmethod
    def _candidate_round(shape: TimedShape, rounds: Rounds, candidate: Contestant, count: int) -> Round:
        try:
            return rounds.run(candidate, count)
        except WrongOutput as wrong:
            params = {"shape": shape.name, "count": wrong.count}
            raise WrongTimedOutput(Message(key="performance.wrong_output", params={**params})) from wrong

    @staticmethod
    def _reference_round(rounds: Rounds, reference: Contestant, count: int, *, checked: bool = True) -> Round:
        with _reference_is_ours():
            return rounds.run(reference, count, checked=checked)

    def _timing(self, shape: TimedShape, plan: _Plan, times: _Times, baseline_s: dict[str, float]) -> ShapeTiming:
        time_s, reference_s = statistics.median(times.candidate_s), statistics.median(times.reference_s)
        moved = shape.bytes_moved(plan.rows)
        least_s = moved / (self._calibration.copy_bytes_per_s * IMPOSSIBLE)
        if time_s < least_s:
            params = {"shape": shape.name, "time_us": round(time_s * 1e6, 2), "least_us": round(least_s * 1e6, 2)}
            raise Interference(Message(key="performance.impossible", params={**params}))
        copy_s = baseline_s.get("copy_baseline", moved / self._calibration.copy_bytes_per_s)
        return ShapeTiming(
            name=shape.name,
            shape=[plan.rows, shape.columns],
            dtype=str(shape.dtype).removeprefix("torch."),
            time_us=time_s * 1e6,
            spread=relative_spread(times.candidate_s),
            reference_us=reference_s * 1e6,
            reference_spread=relative_spread(times.reference_s),
            torch_us=baseline_s["torch_baseline"] * 1e6 if "torch_baseline" in baseline_s else None,
            copy_us=copy_s * 1e6,
            ratio=math.exp(times.log_ratio),
            half_width=times.half_width,
            rounds=len(times.candidate_s),
            gbps=moved / time_s / 1e9,
            fraction_of_copy=copy_s / time_s,
        )


@contextlib.contextmanager
def _reference_is_ours() -> Iterator[None]:
    """What goes wrong in here is no finding on the submission."""
    try:
        yield
    except (Refused, WrongOutput) as failed:
        raise ReferenceFailed(str(failed)) from failed
