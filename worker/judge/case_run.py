"""Runs one hidden test: draws it, places it, has it called, judges what comes back."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field, replace

import torch

from graders.cases import Case
from graders.diagnosis import Evidence
from graders.drill import Drill
from graders.limits import Limits
from graders.memory import Call, Draw
from graders.report import Cause, Mismatch
from graders.verdict import Lane, Verdict
from worker.judge.arena import Arena, Arenas
from worker.judge.attendant import Attendant, NoMoreRunners
from worker.judge.case_judgement import judge_call
from worker.judge.device import Device
from worker.judge.messages import Returned
from worker.judge.outcome import Stopped
from worker.judge.placement import Placement, Plan


@dataclass(frozen=True)
class Finding:
    """What a case showed, before points. ``stopped`` is set when its call did not come back in order."""

    verdict: Verdict
    cause: Cause | None = None
    mismatch: Mismatch | None = None
    duration_ms: float | None = None
    stdout: str | None = None
    stopped: Stopped | None = None
    not_run: bool = False
    evidence: list[Evidence] = field(default_factory=list)


EVIDENCE_NUMEL = 1 << 24
"""Calls with more elements are not kept for the diagnosis."""

MAX_FUNCTIONS = 256


def generator(seed: str, device: torch.device, *names: object) -> torch.Generator:
    """A generator of its own for every use of the secret seed, so that cases are drawn independently of order."""
    digest = hashlib.sha256("/".join([seed, *map(str, names)]).encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8], "big", signed=True))


def draw_call(case: Case, seed: str, device: Device, repetition: int = 0) -> Call:
    """The call of a case. Another repetition has fresh values in the same layout."""
    drawn = generator(seed, device.torch, case.name, repetition)
    return case.make(Draw(drawn, interpreter=device.lane is Lane.INTERPRETER))


class CaseRunner:
    """Runs cases one after the other with the attendant's runners."""

    def __init__(
        self, drill: Drill, attendant: Attendant, limits: Limits, seed: str, device: Device, arenas: Arenas
    ) -> None:
        self._drill, self._attendant, self._limits = drill, attendant, limits
        self._seed, self._device, self._arenas = seed, device, arenas
        self.launched: set[str] = set()
        """Names of the kernels that came to be launched."""

    def run(self, ordinal: int, case: Case) -> Finding:
        """The finding on ``case``; a submission that may not be run any more gives ``not_run``."""
        started = time.monotonic()
        try:
            stopped = self._attendant.load()
            finding = _stopped(stopped) if stopped else self._calls(ordinal, case)
        except NoMoreRunners:
            return Finding(Verdict.RUNTIME_ERROR, Cause(key="case.not_run"), not_run=True)
        duration_ms = (time.monotonic() - started) * 1e3
        return replace(finding, duration_ms=duration_ms, stdout=self._attendant.take_output())

    def _calls(self, ordinal: int, case: Case) -> Finding:
        call = draw_call(case, self._seed, self._device)
        plan = Plan(call, self._drill.manifest.entry_point.parameters)
        arena = self._arenas.take(plan.nbytes)
        evidence: list[Evidence] = []
        try:
            stopped = self._attendant.map(arena)
            if stopped is not None:
                return _stopped(stopped)
            for repetition in range(case.calls):
                if repetition:
                    call = draw_call(case, self._seed, self._device, repetition)
                finding = self._one_call(ordinal, case, call, plan, arena, repetition)
                evidence.extend(finding.evidence)
                if finding.verdict is not Verdict.ACCEPTED:
                    break
        finally:
            self._arenas.give_back(arena)
        return replace(finding, evidence=evidence)

    def _one_call(self, ordinal: int, case: Case, call: Call, plan: Plan, arena: Arena, repetition: int) -> Finding:
        poison = generator(self._seed, self._device.torch, case.name, repetition, "poison")
        placement = Placement(arena, plan, call, poison)
        self._device.synchronize()
        answer = self._attendant.ask({"type": "call", **plan.views()}, Returned, self._limits.case_s, "case.time_limit")
        if isinstance(answer, Stopped):
            return _stopped(answer)
        if len(self.launched) < MAX_FUNCTIONS:
            self.launched.update(answer.functions)
        collected = placement.collect()
        judgement = judge_call(self._drill, call, collected, answer, guards_inputs=case.guards_inputs)
        passed = judgement.verdict is Verdict.ACCEPTED
        evidence = Evidence(ordinal, passed, placement.call, collected.outs, judgement.expected)
        kept = [evidence] if evidence.numel <= EVIDENCE_NUMEL else []
        return Finding(judgement.verdict, judgement.cause, judgement.mismatch, evidence=kept)


def _stopped(stopped: Stopped) -> Finding:
    return Finding(stopped.verdict, stopped.cause, stopped=stopped)
