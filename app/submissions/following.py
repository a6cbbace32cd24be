"""Following a submission live: its events as they come, filtered for the reader."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.drills.service import catalogue_of
from app.gradings.events import EventType, events_after
from app.queue.following import BATCH, follow_numbered
from app.resources import Resources
from app.store.models import DrillVersion, Event, Grading
from app.submissions.sentences import CaseOut, Sentences
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
    async for event in follow_numbered(
        resources, submission_id, partial(_read, resources, submission_id, staff), after
    ):
        yield event


def _read(resources: Resources, submission_id: str, staff: bool, after: int) -> tuple[list[VisibleEvent], bool]:
    """The next events, and whether the grading has ended."""
    with resources.store.reading() as session:
        events = events_after(session, submission_id, after, BATCH)
        current = select(Grading.state).where(Grading.submission_id == submission_id, Grading.is_current)
        ended = State(session.scalars(current).one()).final
        cases = {event.grading_id for event in events if event.type == EventType.CASE.value}
        say = {grading_id: Sentences(catalogue_of(session, _version(session, grading_id))) for grading_id in cases}
    return [_visible(event, say, staff=staff) for event in events], ended


def _version(session: Session, grading_id: str) -> DrillVersion:
    of_grading = select(Grading.drill_version_id).where(Grading.id == grading_id).scalar_subquery()
    return session.scalars(select(DrillVersion).where(DrillVersion.id == of_grading)).one()


def _visible(event: Event, say: dict[str, Sentences], *, staff: bool) -> VisibleEvent:
    data = event.data
    if event.type == EventType.CASE.value:
        case = visible_case(CaseResult.model_validate(data), staff=staff)
        data = CaseOut.of(case, say[event.grading_id]).model_dump(mode="json")
    return VisibleEvent(event.number, EventType(event.type), data)
