"""Numbered events of a submission: what pages and clients follow."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.store.models import Event


class EventType(StrEnum):
    """``done`` is the last one of a grading; ``restarted`` says that what was told before no longer counts."""

    STATE = "state"
    CASE = "case"
    RESTARTED = "restarted"
    DONE = "done"


def append_event(
    session: Session, submission_id: str, grading_id: str, event_type: EventType, data: Mapping[str, Any]
) -> int:
    """Write the next event and return its number.

    The caller has updated the grading's row in this transaction: the lock on it keeps the numbers gapless.
    """
    number = last_number(session, submission_id) + 1
    session.add(
        Event(submission_id=submission_id, number=number, grading_id=grading_id, type=event_type.value, data=dict(data))
    )
    session.flush()
    return number


def last_number(session: Session, submission_id: str) -> int:
    """The number of the submission's latest event; 0 when there is none."""
    query = select(func.coalesce(func.max(Event.number), 0)).where(Event.submission_id == submission_id)
    return session.scalars(query).one()


def events_after(session: Session, submission_id: str, number: int, limit: int) -> list[Event]:
    """The submission's events from ``number`` (exclusive) on, oldest first."""
    query = select(Event).where(Event.submission_id == submission_id, Event.number > number)
    return list(session.scalars(query.order_by(Event.number).limit(limit)))
