"""How a validation ends, or begins again, when no report comes: shared by the worker's functions and the sweeper."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from app.gradings.outcomes import with_fault
from app.store.columns import as_json, utc_now
from app.store.models import DrillVersion, Validation, VersionState
from app.store.updates import compare_and_set
from app.validations.events import EventType, append_event
from graders.validation import ValidationReport


class ValidationState(StrEnum):
    """Where a validation stands. One that is done without a report could not be ended, through our fault."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"


def release(
    session: Session,
    validation_id: str,
    held: ColumnElement[bool],
    reason: str | None,
    *,
    max_attempts: int | None = None,
) -> bool:
    """Take a validation back from its attempt if ``held`` is still true of its row: queue it again, or end it
    without a report after ``max_attempts`` that failed (None: never). Without a ``reason`` nothing went wrong, and the
    attempt does not count. False: somebody else was faster."""
    row = session.execute(
        select(Validation.drill_version_id, Validation.attempt, Validation.faults)
        .where(held)
        .with_for_update(key_share=True)
    ).one_or_none()
    if row is None:
        return False
    faults = with_fault(row.faults, row.attempt, reason)
    if max_attempts is not None and len(faults) >= max_attempts:
        return end(session, row.drill_version_id, validation_id, held, None, faults=faults)
    queued = {"state": ValidationState.QUEUED.value, "worker_id": None, "lease_until": None, "queue": None}
    if not compare_and_set(session, Validation, held, **queued, sent_at=None, faults=faults):
        return False
    tell_state(session, row.drill_version_id, validation_id, ValidationState.QUEUED)
    return True


def end(
    session: Session,
    version_id: str,
    validation_id: str,
    where: ColumnElement[bool],
    report: ValidationReport | None,
    **values: Any,
) -> bool:
    """End a validation if ``where`` is still true of its row, and let its version stand as the report says."""
    values |= {"report": as_json(report) if report else None, "finished_at": utc_now(), "lease_until": None}
    if not compare_and_set(session, Validation, where, state=ValidationState.DONE.value, **values):
        return False
    state = VersionState.VALID if report is not None and report.valid else VersionState.INVALID
    session.execute(update(DrillVersion).where(DrillVersion.id == version_id).values(state=state.value))
    ending = {"state": state.value, "report": report is not None}
    append_event(session, version_id, validation_id, EventType.DONE, ending)
    return True


def tell_state(session: Session, version_id: str, validation_id: str, state: ValidationState) -> None:
    append_event(session, version_id, validation_id, EventType.STATE, {"state": state.value})
