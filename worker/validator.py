"""The Celery task that validates: from a validation's id to its end in the database. Never imports torch.

A validation takes minutes, and there may be no other worker: it runs in a thread of its own, so that this one goes on
grading what students submit meanwhile.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.gradings.service import Renewal
from app.queue.wakeup import Wakeups
from app.settings import Settings
from app.store.engine import Store
from app.validations.service import (
    Claim,
    LeaseLost,
    claim,
    claim_again,
    finish,
    give_back,
    hand_on,
    renew,
    tell_stage,
    tell_submission,
)
from graders.package import Package
from graders.validation import ValidationReport
from worker.lease import Lease
from worker.patience import claim_patiently, write_patiently
from worker.stopping import Stopping, WorkerStops
from worker.supervisor.supervisor import Cancelled, JudgeFailed
from worker.validation.engine import Watcher

_log = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_S = 0.5
"""How often it is looked whether a student waits."""

Engine = Callable[[Package, Watcher], ValidationReport]
"""Validates a package. Raises Cancelled, or JudgeFailed when this machine cannot judge."""


class Students(Protocol):
    """The worker's other work."""

    def prove(self) -> None: ...

    def grade_waiting(self) -> bool: ...


class Validator:
    """Validates by id. Lives in the process that runs the tasks, next to ``students``, which grades there."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        wakeups: Wakeups,
        students: Students,
        engine: Engine,
        *,
        worker_id: str,
        stopping: Stopping,
    ) -> None:
        self._store, self._settings, self._wakeups = store, settings, wakeups
        self._students, self._engine, self._worker_id, self._stopping = students, engine, worker_id, stopping

    def validate(self, validation_id: str) -> None:
        """Claim the validation and end it: with a report, or given back. A message for nothing is dropped.

        Raises WorkerStops when the worker is to take no more work.
        """
        self._students.prove()
        lease_s = self._settings.lease_s
        held = claim_patiently(
            self._store,
            lambda session: claim(session, validation_id, worker_id=self._worker_id, lease_s=lease_s),
            lambda session, made: claim_again(session, made, worker_id=self._worker_id, lease_s=lease_s),
        )
        if held is None:
            _log.info("validation %s is not there to be claimed", validation_id)
            return
        self._wakeups.publish(held.version_id)
        with Lease(self._store, lambda session: self._renewed(session, held), self._settings) as lease:
            thread = threading.Thread(target=self._attempt, args=[held, lease], name="validation", daemon=True)
            thread.start()
            while thread.is_alive():
                if not self._grade_waiting():
                    thread.join(LOOK_S)
        self._wakeups.publish(held.version_id)

    def _grade_waiting(self) -> bool:
        try:
            return not self._stopping.told and self._students.grade_waiting()
        except WorkerStops:
            return False
        except SQLAlchemyError:
            _log.exception("it could not be looked whether somebody waits")
            return False

    def _renewed(self, session: Session, held: Claim) -> Renewal:
        return Renewal(held=renew(session, held, lease_s=self._settings.lease_s), cancel_requested=False)

    def _attempt(self, held: Claim, lease: Lease) -> None:
        try:
            report = self._engine(Package.from_zip(held.slug, held.package), _Teller(self, held, lease))
        except LeaseLost:
            _log.warning("validation %s: attempt %d lost its lease", held.validation_id, held.attempt)
        except Cancelled:
            self._write(lease, lambda session: hand_on(session, held))
        except Exception as error:
            # Whatever went wrong is ours: the validation must not hang on it.
            _log.exception("validation %s: attempt %d failed", held.validation_id, held.attempt)
            reason = str(error) if isinstance(error, JudgeFailed) else f"{type(error).__name__}: {error}"
            self._write(
                lease, lambda session: give_back(session, held, reason, max_attempts=self._settings.max_attempts)
            )
        else:
            if not self._write(lease, lambda session: finish(session, held, report)):
                _log.warning("validation %s: a late result was dropped", held.validation_id)

    def _write(self, lease: Lease, write: Callable[[Session], T]) -> T:
        return write_patiently(self._store, write, lambda: lease.lost)

    @property
    def overdue(self) -> bool:
        """Whether the validation is to stop because the worker does."""
        return self._stopping.overdue

    def tell(self, held: Claim, write: Callable[[Session], int]) -> None:
        """Write an event and wake who follows. What cannot be written is not told: the report comes all the same."""
        try:
            with self._store.transaction() as session:
                write(session)
        except SQLAlchemyError:
            _log.exception("validation %s: an event was not written", held.validation_id)
        self._wakeups.publish(held.version_id)


class _Teller:
    """Writes what the engine tells into the database, as it comes."""

    def __init__(self, validator: Validator, held: Claim, lease: Lease) -> None:
        self._validator, self._held, self._lease = validator, held, lease

    def stage(self, name: str) -> None:
        self._validator.tell(self._held, lambda session: tell_stage(session, self._held, name))

    def graded(self, name: str, verdict: str, done: int, total: int) -> None:
        self._validator.tell(
            self._held,
            lambda session: tell_submission(session, self._held, name, verdict or None, done=done, total=total),
        )

    def cancelled(self) -> bool:
        return self._lease.lost or self._validator.overdue
