"""Runs gradings: one judge, its runners, and the rules that hold when one of them misbehaves."""

from __future__ import annotations

import contextlib
import logging
import time
from typing import Any, Protocol

from graders.limits import Limits, LimitsOverride
from graders.report import CaseResult, Report
from graders.verdict import Lane, State
from worker.job import Job
from worker.protocol.channel import PeerGone, ProtocolError
from worker.sandbox.tiers import Sandbox
from worker.sandbox.walls import SandboxUnavailable
from worker.supervisor.cores import choose_cores, own_threads, pin
from worker.supervisor.device_lock import LockUnavailable, lock_for
from worker.supervisor.device_watch import DeviceWatch
from worker.supervisor.judge_process import JudgeProcess
from worker.supervisor.nvml import device_of_gpu
from worker.supervisor.runners import Runner, RunnerPool
from worker.supervisor.warm_ups import WarmUp, warm_ups_beside
from worker.supervisor.watchdog import Watchdog

_log = logging.getLogger(__name__)
_POLL_S = 0.25
_EXIT_WAIT_S = 2.0
"""How long a process that ends by itself may take to give its memory back, a GPU's above all."""
_SETTLE_S = 20.0
"""How long a grading waits in all for what still warms up, before its measurement and a new judge's calibration."""
_JUDGE_SLACK_S = 120.0
"""How long the judge may take beyond the grading's own limit before it is taken for hung."""


class JudgeFailed(Exception):
    """The grading could not be done, by no fault of the submission: it may be tried again."""


class DeviceFailed(JudgeFailed):
    """The GPU did not answer a health kernel: no grading is to be tried here until it does."""


class Cancelled(Exception):
    """The listener asked for an end."""


class Listener(Protocol):
    """Hears how a grading goes, in the thread that runs it."""

    def state(self, state: State) -> None: ...

    def case(self, result: CaseResult) -> None: ...

    def cancelled(self) -> bool:
        """Whether to stop; asked several times a second."""
        ...


class Supervisor:
    """One judge and a pool of runners for one lane. Use it from the thread that made it, and close it there.

    ``maximum`` is the most that the operator grants a drill.
    """

    def __init__(self, lane: Lane, standby: dict[str, int], *, sandbox: Sandbox, maximum: Limits | None = None) -> None:
        self.lane = lane
        self._sandbox = sandbox
        device = device_of_gpu() if lane is Lane.GPU else None
        self._lock = lock_for(lane, device)
        self._warm_ups = warm_ups_beside(self._lock)
        self._patience_s = _SETTLE_S
        limits = Limits.default(lane).overridden(LimitsOverride(), maximum)
        self._pool = RunnerPool(standby, sandbox=sandbox, limits=limits, warm_ups=self._warm_ups)
        self._active: dict[int, Runner] = {}
        self._judge: JudgeProcess | None = None
        self._cores = choose_cores()
        self._watchdog = Watchdog(DeviceWatch(device, sum(standby.values())) if device is not None else None)

    def warm_up(self) -> None:
        """Start the judge and the standby runners; returns at once. While another worker measures on the device
        nothing is started: the next grading does it."""
        self._fill()
        with contextlib.suppress(LockUnavailable), self._warm_ups.begun() as warm_up:  # _fill has told why
            if warm_up is not None:
                self._ensure_judge(warm_up)

    def grade(self, job: Job, package: bytes, listener: Listener) -> Report:
        """Grade one submission, alone on the device. Raises Cancelled, or JudgeFailed when the judge crashed, hung or
        gave up."""
        try:
            with self._lock.held(lambda: _require_wanted(listener)):
                try:
                    return self._grade(job, package, listener)
                finally:
                    self._warm_ups.let_in()
                    self._fill()
        except LockUnavailable as error:
            raise JudgeFailed(str(error)) from error

    def _grade(self, job: Job, package: bytes, listener: Listener) -> Report:
        deadline = time.monotonic() + job.limits.grading_s + _JUDGE_SLACK_S
        self._patience_s = _SETTLE_S
        try:
            self._fill()  # while another worker measured nothing was started
            with self._warm_ups.begun() as warm_up:
                judge = self._ensure_judge(warm_up or WarmUp())
            judge.wait_ready()
            if self.lane is Lane.GPU and not judge.tried:
                self._settle(listener)  # it calibrates itself now
            judge.send_job(job.model_dump(mode="json"), package)
            report = self._attend(judge, job, listener, deadline)
        except (PeerGone, ProtocolError, TimeoutError, ValueError) as error:
            self._drop_judge()
            raise JudgeFailed(f"{type(error).__name__}: {error}") from error
        except BaseException:
            self._drop_judge()
            raise
        finally:
            self._end_all()
        return report

    def close(self) -> None:
        """Kill everything."""
        self._end_all()
        self._pool.close()
        self._watchdog.close()
        self._drop_judge()

    def _attend(self, judge: JudgeProcess, job: Job, listener: Listener, deadline: float) -> Report:
        while True:
            _require_wanted(listener)
            if time.monotonic() > deadline:
                raise TimeoutError("the judge did not end in time")
            try:
                message, _ = judge.channel.receive(_POLL_S)
            except TimeoutError:
                continue
            match message["type"]:
                case "report":
                    return Report.model_validate(message["report"])
                case "failed":
                    failure = DeviceFailed if message["unhealthy"] else JudgeFailed
                    raise failure(str(message["reason"]))
                case "state":
                    listener.state(State(message["state"]))
                case "case":
                    listener.case(CaseResult.model_validate(message["case"]))
                case "need_runner":
                    self._hand_over(judge, str(message["kind"]), job.limits)
                case "end_runner":
                    self._end(judge, int(message["id"]), by_itself=bool(message["by_itself"]))
                case "pause_runner":
                    at_rest = self._pause(self._active[int(message["id"])])
                    judge.channel.send({"type": "runner_paused", "at_rest": at_rest})
                case "resume_runner":
                    self._active[int(message["id"])].process.resume()
                    judge.channel.send({"type": "runner_resumed"})
                case "pin_runner":
                    self._pin(judge, self._active[int(message["id"])], listener)
                case other:
                    raise ProtocolError(f"the judge said {other!r}")

    def _hand_over(self, judge: JudgeProcess, kind: str, limits: Limits) -> None:
        runner = self._pool.take(kind)
        self._active[runner.id] = runner
        self._watchdog.watch(runner, limits, judge)
        judge.channel.send({"type": "runner", "id": runner.id}, (runner.socket, runner.output))
        runner.handed_over()

    def _pause(self, runner: Runner) -> bool:
        """Whether it is at rest now, and all have been that were paused before: nobody has run beside it."""
        others = [other.process for other in self._active.values() if other is not runner and other.process.paused]
        rests = [runner.process.pause(), *(process.rested() for process in others)]
        return all(rests)

    def _pin(self, judge: JudgeProcess, runner: Runner, listener: Listener) -> None:
        """Give a contestant its core, keep the judge and ourselves off it, and let no other runner be starting."""
        self._settle(listener)
        if self._cores is not None:
            judge.process.pin(self._cores.others)
            pin(own_threads(), self._cores.others)
            runner.process.pin(self._cores.contestants)
        judge.channel.send({"type": "runner_pinned"})

    def _settle(self, listener: Listener) -> None:
        """Until the grading ends let nothing warm up on the device, of our pool or of anybody's: it would stand in the
        times. What is still at it when our patience ends stays."""
        deadline = time.monotonic() + self._patience_s
        self._pool.settle(self._patience_s)
        if not self._warm_ups.keep_out(deadline - time.monotonic(), lambda: _require_wanted(listener)):
            _log.warning("going on to measure although a judge or a runner still warms up on this GPU")
        self._patience_s = max(deadline - time.monotonic(), 0.0)

    def _end(self, judge: JudgeProcess, runner_id: int, *, by_itself: bool) -> None:
        runner = self._active.pop(runner_id)
        returncode = runner.process.wait(_EXIT_WAIT_S) if by_itself else None
        reason = self._watchdog.unwatch(runner)
        runner.kill()
        answer: dict[str, Any] = {"type": "runner_ended", "id": runner_id, "reason": reason, "returncode": returncode}
        judge.channel.send(answer)

    def _end_all(self) -> None:
        for runner in self._active.values():
            self._watchdog.unwatch(runner)
            runner.kill()
        self._active.clear()

    def _fill(self) -> None:
        """Fill the pool. What cannot be started now is started by the next grading, which fails if it cannot either:
        the report of the one before is not to be lost for it."""
        try:
            self._pool.fill()
        except (LockUnavailable, SandboxUnavailable, OSError) as error:
            _log.warning("no runners are started: %s", error)

    def _ensure_judge(self, warm_up: WarmUp) -> JudgeProcess:
        if self._judge is None or not self._judge.alive:
            self._drop_judge()
            self._judge = JudgeProcess(self.lane, sandbox=self._sandbox, log=2, warm_up=warm_up)
        return self._judge

    def _drop_judge(self) -> None:
        if self._judge is not None:
            _log.info("ending the judge, pid %d", self._judge.process.pid)
            self._judge.kill()
            self._judge = None


def _require_wanted(listener: Listener) -> None:
    """Raises Cancelled when the listener wants no more."""
    if listener.cancelled():
        raise Cancelled
