"""The Celery task that grades: from a grading's id to its end in the database. Never imports torch."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy.orm import Session

from app.gradings.line import next_waiting
from app.gradings.service import (
    Claim,
    LeaseLost,
    claim,
    claim_again,
    claim_next,
    finish,
    finish_cancelled,
    give_back,
    hand_on,
    record_case,
    record_state,
    renew,
)
from app.queue.wakeup import Wakeups
from app.settings import Settings
from app.store.engine import AWAY, Store, why_away
from graders.package import Package
from graders.report import CaseResult
from graders.verdict import Lane, State
from worker.canary import require_canary
from worker.job import Job
from worker.lease import Lease
from worker.patience import claim_patiently, write_patiently
from worker.stopping import Stopping
from worker.supervisor.supervisor import Cancelled, JudgeFailed, Supervisor

_log = logging.getLogger(__name__)

T = TypeVar("T")

RETRY_S = 30.0
"""How long a worker that cannot judge rests before it tries again."""


class Health(Protocol):
    """Whether this worker takes work: shared with the process that says so to others."""

    value: bool


class _Recorder:
    """Writes what the supervisor tells into the database, as it comes."""

    def __init__(self, store: Store, held: Claim, lease: Lease, wakeups: Wakeups, stopping: Stopping) -> None:
        self._store, self._claim, self._lease, self._wakeups = store, held, lease, wakeups
        self._stopping = stopping

    def state(self, state: State) -> None:
        self._tell(lambda session: record_state(session, self._claim, state))

    def case(self, result: CaseResult) -> None:
        self._tell(lambda session: record_case(session, self._claim, result))

    def cancelled(self) -> bool:
        return self._lease.lost or self._lease.cancel_requested or self._stopping.overdue

    def _tell(self, write: Callable[[Session], int]) -> None:
        """What cannot be written while the database is away is not told: the report comes all the same."""
        try:
            with self._store.transaction() as session:
                write(session)
        except AWAY as error:
            _log.warning("grading %s: an event was not written: %s", self._claim.grading_id, why_away(error))
        else:
            self._wakeups.publish(self._claim.submission_id)


class Grader:
    """Grades what is first in line, with one supervisor. Lives in the process that runs the tasks."""

    def __init__(
        self,
        store: Store,
        supervisor: Supervisor,
        settings: Settings,
        wakeups: Wakeups,
        *,
        worker_id: str,
        sandbox: str,
        health: Health,
        stopping: Stopping,
    ) -> None:
        self._store, self._supervisor, self._settings, self._wakeups = store, supervisor, settings, wakeups
        self._worker_id, self._sandbox, self._health, self._stopping = worker_id, sandbox, health, stopping
        self._proven = False

    def grade(self, grading_id: str) -> None:
        """Claim what is first in this lane's line and end it: with a report, cancelled, or given back.

        The message names a grading, but stands for a turn: there are as many as gradings wait, and each begins one of
        them, or none when nobody waits any more. The one it names is begun if it waits nowhere else: its sender may
        have been told that the message was not sent. Raises WorkerStops when the worker is to take no more work.
        """
        self.prove()
        lease_s = self._settings.lease_s
        held = claim_patiently(
            self._store,
            lambda session: self._claimed(session, grading_id),
            lambda session, made: claim_again(session, made, worker_id=self._worker_id, lease_s=lease_s),
        )
        if held is None:
            _log.info("nobody waits: the message of grading %s is one too many", grading_id)
            return
        self._wakeups.publish(held.submission_id)
        with Lease(self._store, lambda session: renew(session, held, lease_s=lease_s), self._settings) as lease:
            self._attempt(held, lease)
        self._wakeups.publish(held.submission_id)

    def grade_waiting(self) -> bool:
        """Grade what is first in this lane's line; a message will be one too many. False: nobody waits."""
        with self._store.reading() as session:
            grading_id = next_waiting(session, self._supervisor.lane.queue)
        if grading_id is None:
            return False
        self.grade(grading_id)
        return True

    def _claimed(self, session: Session, grading_id: str) -> Claim | None:
        worker_id, lease_s = self._worker_id, self._settings.lease_s
        first = claim_next(session, self._supervisor.lane.queue, worker_id=worker_id, lease_s=lease_s)
        return first or claim(session, grading_id, worker_id=worker_id, lease_s=lease_s)

    def prove(self) -> None:
        """Before the first grading, and after one that failed through our fault: the canary has to be right.

        While it is not, no work is taken: the worker says so where it is looked at, and tries again. Raises
        WorkerStops when the worker is to take no more work.
        """
        self._stopping.require_going_on()
        while not self._proven:
            try:
                require_canary(self._supervisor, self._supervisor.lane, self._sandbox)
            except JudgeFailed as error:
                _log.error("this worker takes no work: %s", error)
                self._health.value = False
                self._stopping.rest(RETRY_S)
            else:
                self._proven, self._health.value = True, True

    def _attempt(self, held: Claim, lease: Lease) -> None:
        try:
            job = self._job(held)
            recorder = _Recorder(self._store, held, lease, self._wakeups, self._stopping)
            report = self._supervisor.grade(job, held.package, recorder)
        except LeaseLost:
            _log.warning("grading %s: attempt %d lost its lease", held.grading_id, held.attempt)
        except Cancelled:
            # What was not asked for by the student, nor taken away, ends because this worker does.
            end = finish_cancelled if lease.cancel_requested or lease.lost else hand_on
            self._write(lease, lambda session: end(session, held))
        except Exception as error:
            self._proven = False
            # Whatever went wrong is ours: the grading must not hang on it.
            _log.exception("grading %s: attempt %d failed", held.grading_id, held.attempt)
            reason = str(error) if isinstance(error, JudgeFailed) else f"{type(error).__name__}: {error}"
            self._write(
                lease, lambda session: give_back(session, held, reason, max_attempts=self._settings.max_attempts)
            )
        else:
            if not self._write(lease, lambda session: finish(session, held, report)):
                _log.warning("grading %s: a late result was dropped", held.grading_id)

    def _write(self, lease: Lease, write: Callable[[Session], T]) -> T:
        return write_patiently(self._store, write, lambda: lease.lost)

    def _job(self, held: Claim) -> Job:
        manifest = Package.from_zip(held.slug, held.package).manifest
        lane: Lane = self._supervisor.lane
        return Job(
            id=held.submission_id,
            slug=held.slug,
            version=held.version,
            digest=held.digest,
            attempt=held.student_attempt,
            source=held.source,
            seed=held.seed,
            lane=lane,
            limits=manifest.limits_for(lane, self._settings.limits),
            sandbox=self._sandbox,
            worker=self._worker_id,
            queued_at=held.queued_at,
            claimed_at=held.claimed_at,
        )
