"""A worker that judges nothing: the test says what it found, and it writes that as a real one does."""

from __future__ import annotations

from sqlalchemy import select

from app.gradings import service as gradings
from app.gradings.service import Claim
from app.queue.wakeup import Wakeups
from app.store.engine import Store
from app.store.models import Grading
from app.workers import service as workers
from graders.report import CaseResult, Report
from graders.verdict import State
from tests import builders

_LEASE_S = 60


class PlayedWorker:
    """Registered and alive from its making on. Without ``wakeups`` those who follow it poll."""

    def __init__(self, store: Store, wakeups: Wakeups | None = None) -> None:
        self.store = store
        self.wakeups = wakeups
        self.info = builders.worker_info()
        self.beat()

    def beat(self) -> None:
        """Say that it lives."""
        with self.store.transaction() as session:
            workers.register(session, self.info)

    def take(self, submission_id: str) -> PlayedGrading:
        """Claim the submission's current grading."""
        with self.store.transaction() as session:
            current = select(Grading.id).where(Grading.submission_id == submission_id, Grading.is_current)
            grading_id = session.scalars(current).one()
            claim = gradings.claim(session, grading_id, worker_id=self.info.id, lease_s=_LEASE_S)
        assert claim is not None
        self.wake(submission_id)
        return PlayedGrading(self, claim)

    def wake(self, submission_id: str) -> None:
        if self.wakeups is not None:
            self.wakeups.publish(submission_id)


class PlayedGrading:
    """One attempt at one grading."""

    def __init__(self, worker: PlayedWorker, claim: Claim) -> None:
        self._worker = worker
        self._claim = claim

    def state(self, state: State) -> None:
        with self._worker.store.transaction() as session:
            gradings.record_state(session, self._claim, state)
        self._worker.wake(self._claim.submission_id)

    def case(self, case: CaseResult) -> None:
        with self._worker.store.transaction() as session:
            gradings.record_case(session, self._claim, case)
        self._worker.wake(self._claim.submission_id)

    def finish(self, report: Report) -> None:
        with self._worker.store.transaction() as session:
            assert gradings.finish(session, self._claim, report)
        self._worker.wake(self._claim.submission_id)

    def cancelled(self) -> None:
        """End because its author wanted that."""
        with self._worker.store.transaction() as session:
            assert gradings.finish_cancelled(session, self._claim)
        self._worker.wake(self._claim.submission_id)

    def give_back(self, *, max_attempts: int) -> None:
        """Fail through no fault of the submission."""
        with self._worker.store.transaction() as session:
            gradings.give_back(session, self._claim, "the <judge> died", max_attempts=max_attempts)
        self._worker.wake(self._claim.submission_id)
