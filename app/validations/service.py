"""What is done to a validation: asked for by an instructor, then claimed, renewed, told of and ended by a worker.

As with gradings, every function leaves the commit to the caller, who dispatches or wakes the listeners after it; and
a claim is fenced by the attempt number: whatever an old claim still says is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session

from app.store.columns import utc_now
from app.store.models import Drill, DrillVersion, Validation, VersionState
from app.store.updates import compare_and_set
from app.validations.events import EventType, append_event
from app.validations.outcomes import ValidationState, end, release, tell_state
from graders.validation import ValidationReport


class LeaseLost(Exception):
    """Another attempt holds the validation, or it has ended: stop, and write nothing more."""


@dataclass(frozen=True)
class Claim:
    """One attempt at one validation, with all that it needs."""

    validation_id: str
    version_id: str
    attempt: int
    slug: str
    version: int
    digest: str
    package: bytes


def request(session: Session, version: DrillVersion, user_id: str) -> str:
    """Queue a validation of the version, which is validating from now on. Returns its id, to be dispatched."""
    version.state = VersionState.VALIDATING.value
    validation = Validation(
        drill_version_id=version.id, requested_by=user_id, state=ValidationState.QUEUED.value, faults=[]
    )
    session.add(validation)
    session.flush()
    tell_state(session, version.id, validation.id, ValidationState.QUEUED)
    return validation.id


def newest(session: Session, version_id: str) -> Validation | None:
    """The validation that says how the version stands. None: it never had one, as what comes with Warpgrade."""
    query = select(Validation).where(Validation.drill_version_id == version_id).order_by(Validation.id.desc())
    return session.scalars(query.limit(1)).first()


def claim(session: Session, validation_id: str, *, worker_id: str, lease_s: float) -> Claim | None:
    """Take a queued validation for ``lease_s`` seconds. None: somebody else's, finished, or unknown."""
    now = utc_now()
    taken = compare_and_set(
        session,
        Validation,
        and_(Validation.id == validation_id, Validation.state == ValidationState.QUEUED.value),
        state=ValidationState.RUNNING.value,
        attempt=Validation.attempt + 1,
        worker_id=worker_id,
        lease_until=now + timedelta(seconds=lease_s),
        claimed_at=now,
        started_at=func.coalesce(Validation.started_at, now),
    )
    if not taken:
        return None
    made = _read_claim(session, validation_id)
    if made.attempt > 1:
        append_event(session, made.version_id, validation_id, EventType.RESTARTED, {"attempt": made.attempt})
    tell_state(session, made.version_id, validation_id, ValidationState.RUNNING)
    return made


def claim_again(session: Session, claim: Claim, *, worker_id: str, lease_s: float) -> bool:
    """Hold on to a claim whose commit was not confirmed. False: it was not made, or is lost."""
    ours = and_(_held_by(claim), Validation.worker_id == worker_id)  # another's attempt may have the same number
    return compare_and_set(session, Validation, ours, lease_until=utc_now() + timedelta(seconds=lease_s))


def renew(session: Session, claim: Claim, *, lease_s: float) -> bool:
    """Extend the lease, which is still held while nobody has taken the validation back. False: it is lost."""
    return compare_and_set(session, Validation, _held_by(claim), lease_until=utc_now() + timedelta(seconds=lease_s))


def tell_stage(session: Session, claim: Claim, stage: str) -> int:
    """Tell what begins: form, code or submissions. Returns the event's number; raises LeaseLost."""
    return _tell(session, claim, EventType.STAGE, {"stage": stage})


def tell_submission(session: Session, claim: Claim, name: str, verdict: str | None, *, done: int, total: int) -> int:
    """Tell how one of the drill's own submissions was judged; without a verdict the judge itself failed.

    Returns the event's number; raises LeaseLost.
    """
    told = {"submission": name, "verdict": verdict, "done": done, "total": total}
    return _tell(session, claim, EventType.SUBMISSION, told)


def finish(session: Session, claim: Claim, report: ValidationReport) -> bool:
    """End the validation with its report. False: the attempt no longer holds it, nothing was written."""
    final = report.model_copy(update={"slug": claim.slug, "digest": claim.digest})
    return end(session, claim.version_id, claim.validation_id, _held_by(claim), final)


def give_back(session: Session, claim: Claim, reason: str, *, max_attempts: int) -> None:
    """Our fault, not the drill's: queue the validation again, or end it without a report after ``max_attempts``.

    ``reason`` is for staff. Does nothing when the lease is lost.
    """
    release(session, claim.validation_id, _held_by(claim), reason, max_attempts=max_attempts)


def hand_on(session: Session, claim: Claim) -> None:
    """The worker stops, which is nobody's fault: queue the validation again, for another. Does nothing when the lease
    is lost."""
    release(session, claim.validation_id, _held_by(claim), None)


def _held_by(claim: Claim) -> ColumnElement[bool]:
    return and_(
        Validation.id == claim.validation_id,
        Validation.attempt == claim.attempt,
        Validation.state == ValidationState.RUNNING.value,
    )


def _tell(session: Session, claim: Claim, event_type: EventType, data: dict[str, Any]) -> int:
    if not compare_and_set(session, Validation, _held_by(claim), attempt=Validation.attempt):
        raise LeaseLost(f"validation {claim.validation_id}: attempt {claim.attempt} no longer holds it")
    return append_event(session, claim.version_id, claim.validation_id, event_type, data)


def _read_claim(session: Session, validation_id: str) -> Claim:
    query = (
        select(
            Validation.id.label("validation_id"),
            Validation.drill_version_id.label("version_id"),
            Validation.attempt,
            Drill.slug,
            DrillVersion.number.label("version"),
            DrillVersion.digest,
            DrillVersion.package,
        )
        .join(DrillVersion, Validation.drill_version_id == DrillVersion.id)
        .join(Drill, DrillVersion.drill_id == Drill.id)
        .where(Validation.id == validation_id)
    )
    return Claim(**session.execute(query).one()._asdict())
