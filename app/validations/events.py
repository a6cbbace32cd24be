"""Numbered events of a drill version: how its validation comes along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.store.models import ValidationEvent


class EventType(StrEnum):
    """``done`` is the last one of a validation; ``restarted`` says that what was told before no longer counts."""

    STATE = "state"
    STAGE = "stage"
    SUBMISSION = "submission"
    RESTARTED = "restarted"
    DONE = "done"


@dataclass(frozen=True)
class Progress:
    """How far an attempt at a validation has come. ``submissions`` are those that are through, with their verdicts;
    ``total`` is 0 until it is known."""

    stage: str | None = None
    submissions: tuple[tuple[str, str | None], ...] = ()
    total: int = 0


def append_event(
    session: Session, version_id: str, validation_id: str, event_type: EventType, data: Mapping[str, Any]
) -> int:
    """Write the next event and return its number.

    The caller has written the validation's row in this transaction: the lock on it keeps the numbers gapless.
    """
    number = last_number(session, version_id) + 1
    session.add(
        ValidationEvent(
            drill_version_id=version_id,
            number=number,
            validation_id=validation_id,
            type=event_type.value,
            data=dict(data),
        )
    )
    session.flush()
    return number


def last_number(session: Session, version_id: str) -> int:
    """The number of the version's latest event; 0 when there is none."""
    query = select(func.coalesce(func.max(ValidationEvent.number), 0))
    return session.scalars(query.where(ValidationEvent.drill_version_id == version_id)).one()


def events_after(session: Session, version_id: str, number: int, limit: int) -> list[ValidationEvent]:
    """The version's events from ``number`` (exclusive) on, oldest first."""
    query = select(ValidationEvent).where(
        ValidationEvent.drill_version_id == version_id, ValidationEvent.number > number
    )
    return list(session.scalars(query.order_by(ValidationEvent.number).limit(limit)))


def progress(session: Session, validation_id: str) -> Progress:
    """What was told of the validation since its last attempt began."""
    query = select(ValidationEvent).where(ValidationEvent.validation_id == validation_id)
    found = Progress()
    for event in session.scalars(query.order_by(ValidationEvent.number)):
        match EventType(event.type):
            case EventType.RESTARTED:
                found = Progress()
            case EventType.STAGE:
                found = replace(found, stage=event.data["stage"])
            case EventType.SUBMISSION:
                through = (event.data["submission"], event.data["verdict"])
                found = replace(found, submissions=(*found.submissions, through), total=event.data["total"])
    return found
