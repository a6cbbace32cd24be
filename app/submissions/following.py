"""Following a submission live: its events as they come, filtered for the reader."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from starlette.concurrency import run_in_threadpool

from app.gradings.events import EventType, events_after
from app.queue.wakeup import wait_for
from app.resources import Resources
from app.store.models import Event, Grading
from graders.report import CaseResult
from graders.verdict import State
from graders.visibility import visible_case

_POLL_S = 1.0  # how late an event comes when no wake-up does
_BATCH = 200


@dataclass(frozen=True)
class VisibleEvent:
    """An event as the reader may see it."""

    number: int
    type: EventType
    data: dict[str, Any]


async def follow(
    resources: Resources, submission_id: str, *, staff: bool, after: int = 0
) -> AsyncIterator[VisibleEvent]:
    """The submission's events from number ``after`` (exclusive) on, until its current grading has ended.

    Ends early when the service stops or the stream is old; whoever listens resumes from the last number.
    """
    deadline = time.monotonic() + resources.settings.stream_s
    with resources.listeners.listening(submission_id) as woken:
        while not resources.stopping.is_set() and time.monotonic() < deadline:
            events, ended = await run_in_threadpool(_read, resources, submission_id, after)
            for event in events:
                yield _visible(event, staff=staff)
                after = event.number
            if ended and len(events) < _BATCH:
                return
            if len(events) < _BATCH:
                await wait_for(woken, _POLL_S)


def _read(resources: Resources, submission_id: str, after: int) -> tuple[list[Event], bool]:
    """The next events, and whether the grading has ended: on one snapshot, so that no last event is missed."""
    with resources.store.reading() as session:
        events = events_after(session, submission_id, after, _BATCH)
        current = select(Grading.state).where(Grading.submission_id == submission_id, Grading.is_current)
        return events, State(session.scalars(current).one()).final


def _visible(event: Event, *, staff: bool) -> VisibleEvent:
    data = event.data
    if event.type == EventType.CASE.value:
        data = visible_case(CaseResult.model_validate(data), staff=staff).model_dump(mode="json")
    return VisibleEvent(event.number, EventType(event.type), data)
