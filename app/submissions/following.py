"""Following a submission live: its events as they come, filtered for the reader."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import select

from app.gradings.events import EventType, events_after
from app.queue.following import BATCH, follow_numbered
from app.resources import Resources
from app.store.models import Event, Grading
from graders.report import CaseResult
from graders.verdict import State
from graders.visibility import visible_case


@dataclass(frozen=True)
class VisibleEvent:
    """An event as the reader may see it."""

    number: int
    type: EventType
    data: dict[str, Any]


async def follow(
    resources: Resources, submission_id: str, *, staff: bool, after: int = 0
) -> AsyncIterator[VisibleEvent]:
    """The submission's events from number ``after`` (exclusive) on, until its current grading has ended."""
    async for event in follow_numbered(resources, submission_id, partial(_read, resources, submission_id), after):
        yield _visible(event, staff=staff)


def _read(resources: Resources, submission_id: str, after: int) -> tuple[list[Event], bool]:
    """The next events, and whether the grading has ended."""
    with resources.store.reading() as session:
        events = events_after(session, submission_id, after, BATCH)
        current = select(Grading.state).where(Grading.submission_id == submission_id, Grading.is_current)
        return events, State(session.scalars(current).one()).final


def _visible(event: Event, *, staff: bool) -> VisibleEvent:
    data = event.data
    if event.type == EventType.CASE.value:
        data = visible_case(CaseResult.model_validate(data), staff=staff).model_dump(mode="json")
    return VisibleEvent(event.number, EventType(event.type), data)
