"""One grading from source to report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from graders.cases import Case
from graders.diagnosis import Evidence, diagnose
from graders.drill import Drill
from graders.memory import Call
from graders.report import CaseResult, Cause, Message, Performance, PerformanceStatus, Report
from graders.scoring import share_points
from graders.timed import TimedShape
from graders.verdict import Lane, State, Verdict, Visibility
from worker.job import Job
from worker.judge.arenas import arenas_on
from worker.judge.attendant import Attendant
from worker.judge.case_run import CaseRunner, draw_call
from worker.judge.compile_check import CompileCheck, CompileFindings
from worker.judge.device import device_of
from worker.judge.outcome import Stopped
from worker.judge.report_builder import ReportBuilder
from worker.judge.supervisor_link import Kind, SupervisorLink
from worker.judge.timing.contestant import Refused
from worker.judge.timing.measure import Instruments, Measurement, WrongTimedOutput

REFERENCE_SLACK_S = 30.0
"""How much longer than the submission the reference is waited for: it must not be late where the submission was."""


class Grading:
    """Compiles, tests and reports on one submission."""

    def __init__(self, job: Job, drill: Drill, link: SupervisorLink, instruments: Instruments | None) -> None:
        self._job, self._drill, self._link, self._instruments = job, drill, link, instruments
        self._device = device_of(job.lane)
        self._builder = ReportBuilder(job, drill, self._device, datetime.now(UTC))
        deadline = time.monotonic() + job.limits.grading_s
        entry = drill.manifest.entry_point

        def attendant(kind: Kind, source: str = job.source, more_s: float = 0.0) -> Attendant:
            return Attendant(link, kind, source, entry, job.limits, deadline + more_s)

        on_gpu = job.lane is Lane.GPU
        self._tester = attendant("gpu" if on_gpu else "interpreter")
        self._compiler = self._tester if on_gpu else attendant("compiler")
        self._reference = attendant("reference", drill.reference.read_text("utf-8"), REFERENCE_SLACK_S)
        self._arenas = arenas_on(self._device.torch)
        self._compile_check = CompileCheck(self._compiler, entry, job.limits, self._arenas)
        self._cases = CaseRunner(drill, self._tester, job.limits, job.seed, self._device, self._arenas)
        self._evidence: list[Evidence] = []
        judged = [case for case in drill.cases if self._device.skip_reason(case) is None]
        points = share_points(drill.manifest, [case.category for case in judged])
        self._shares = dict(zip(judged, points, strict=True))

    def run(self) -> Report:
        """Grade. Whatever the submission does is a finding in the report; an exception is our own fault."""
        try:
            self._link.state(State.COMPILING)
            stopped = self._compile_and_test()
            self._builder.in_order()
            self._builder.waited(sum(attendant.waited_s for attendant in {self._tester, self._compiler}))
            return self._conclude() if stopped is None else self._builder.stopped(stopped)
        finally:
            self._compile_check.close()
            self._tester.close()
            self._reference.close()
            self._arenas.close()

    def _compile_and_test(self) -> Stopped | None:
        """Public tests first, from the compiling on: what the submission says until they have run is shown whole, and
        must not be made of what others are. What the whole submission is refused for, or None."""
        public = [(ordinal, case) for ordinal, case in enumerate(self._drill.cases, 1) if self._is_public(case)]
        others = [(ordinal, case) for ordinal, case in enumerate(self._drill.cases, 1) if not self._is_public(case)]
        with self._builder.phase("compile"):
            findings = self._compile(public, self._timed_shapes())
        self._builder.kernels = findings.kernels
        stopped = findings.refused or self._tester.load()
        self._builder.output = self._tester.take_output()
        if stopped is not None:
            return stopped
        self._link.state(State.TESTING)
        with self._builder.phase("test"):
            stopped = self._run_cases(public)
        if stopped is not None:
            return stopped
        self._builder.withheld = True
        with self._builder.phase("compile"):
            more = self._compile(others)
        if more.refused is not None:
            return more.refused
        with self._builder.phase("test"):
            stopped = self._run_cases(others)
        return stopped or self._not_compiled(findings.unfinished or more.unfinished)

    def _not_compiled(self, unfinished: Stopped | None) -> Stopped | None:
        """What keeps a submission that passed every test from being accepted: no compiler has seen all of it."""
        return (unfinished or self._hidden_from_the_compiler()) if self._builder.all_passed else None

    def _conclude(self) -> Report:
        with self._builder.phase("diagnose"):
            diagnoses = diagnose(self._drill.misconceptions, self._evidence, self._job.source, self._drill.policy)
        if self._instruments is not None and self._wants_time():
            self._link.state(State.MEASURING)
            with self._builder.phase("measure"):
                failed = self._measure(self._instruments)
            if failed is not None:
                return self._builder.failed_while_measured(failed)
        return self._builder.finished(diagnoses)

    def _hidden_from_the_compiler(self) -> Stopped | None:
        """Kernels that ran in the tests and that no compiler has seen. A GPU compiles what it runs."""
        return self._compile_check.unseen(self._cases.launched) if self._interprets else None

    @property
    def _interprets(self) -> bool:
        return self._job.lane is Lane.INTERPRETER

    def _wants_time(self) -> bool:
        return self._job.measure and bool(self._drill.shapes) and self._builder.all_passed

    def _measure(self, instruments: Instruments) -> Stopped | None:
        """Time what passed every case. A wrong timed output, or a call that fails, is a finding like any other; what is
        only slow has no number."""
        measurement = Measurement(self._job, self._drill, self._tester, self._reference, instruments)
        try:
            self._builder.performance = measurement.run()
        except WrongTimedOutput as wrong:
            return Stopped(Verdict.WRONG_ANSWER, Cause(key=wrong.reason.key, params=wrong.reason.params))
        except Refused as refused:
            if refused.stopped.verdict is not Verdict.TIME_LIMIT:
                return refused.stopped
            self._builder.performance = Performance(
                status=PerformanceStatus.NOT_MEASURED,
                reason=Message(key="performance.too_slow"),
                max_points=self._drill.manifest.performance_points,
            )
        finally:
            self._builder.measuring_ms = measurement.spent.milliseconds()
        return None

    def _compile(
        self, numbered: Sequence[tuple[int, Case]], shapes: Sequence[tuple[TimedShape, int]] = ()
    ) -> CompileFindings:
        """For the calls of the tests; without a GPU also of those that only a GPU could run."""
        cases = [case for _, case in numbered if self._interprets or self._device.skip_reason(case) is None]
        calls = (draw_call(case, self._job.seed, self._device) for case in _diverse(cases))
        return self._compile_check.run(calls, shapes)

    def _timed_shapes(self) -> list[tuple[TimedShape, int]]:
        """No secret, and where registers matter, if they are to be run at all: long rows take long to compile."""
        timed = self._job.measure and not self._interprets
        return [(shape, shape.rows) for shape in self._drill.shapes] if timed else []

    def _run_cases(self, numbered: Sequence[tuple[int, Case]]) -> Stopped | None:
        """Run them in turn; what the whole submission is refused for, if a case shows it."""
        for ordinal, case in numbered:
            reason = self._device.skip_reason(case)
            if reason is not None:
                self._keep(self._builder.skipped(ordinal, case, reason))
                continue
            finding = self._cases.run(ordinal, case)
            if finding.stopped is not None:
                self._device.require_health()
            if self._interprets and finding.stopped is not None and finding.stopped.interpreter_only:
                refused = self._lane_cannot(case, finding.stopped)
                if refused is not None:
                    return refused
            self._evidence.extend(finding.evidence)
            self._keep(self._builder.case(ordinal, case, finding, self._shares[case]))
        return None

    def _is_public(self, case: Case) -> bool:
        return self._drill.manifest.category(case.category).visibility is Visibility.PUBLIC

    def _keep(self, result: CaseResult) -> None:
        self._builder.cases.append(result)
        self._link.case(result)

    def _lane_cannot(self, case: Case, stopped: Stopped) -> Stopped | None:
        """What the interpreter refuses in a kernel, the GPU compiler must judge: if it agrees, that is the verdict;
        if it compiles the kernel, this lane cannot grade the submission, and it is not the student's fault."""
        call: Call = draw_call(case, self._job.seed, self._device)
        findings = self._compile_check.confirm(call)
        if findings.refused is not None:
            return findings.refused
        if findings.unfinished is not None:
            return None
        exception = str(stopped.cause.params.get("exception", ""))
        cause = Cause(key="judge.lane_cannot", params={"exception": exception})
        return Stopped(Verdict.JUDGE_ERROR, cause, stopped.failure)


def _diverse(cases: Sequence[Case]) -> list[Case]:
    """Cases in an order that meets every dtype and category first: what is compiled is capped."""
    seen: set[tuple[str, str]] = set()
    first: list[Case] = []
    for case in cases:
        if (case.dtype, case.category) not in seen:
            seen.add((case.dtype, case.category))
            first.append(case)
    return [*first, *(case for case in cases if case not in first)]
