"""Following the validation of a drill version live."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

from app.queue.following import BATCH, follow_numbered
from app.resources import Resources
from app.store.models import ValidationEvent
from app.validations import service as validations
from app.validations.events import events_after
from app.validations.outcomes import ValidationState


async def follow(resources: Resources, version_id: str, after: int = 0) -> AsyncIterator[ValidationEvent]:
    """The version's events from number ``after`` (exclusive) on, until its newest validation has ended."""
    async for event in follow_numbered(resources, version_id, partial(_read, resources, version_id), after):
        yield event


def _read(resources: Resources, version_id: str, after: int) -> tuple[list[ValidationEvent], bool]:
    """The next events, and whether the validation has ended."""
    with resources.store.reading() as session:
        events = events_after(session, version_id, after, BATCH)
        validation = validations.newest(session, version_id)
        return events, validation is None or validation.state == ValidationState.DONE.value
