"""The kinds of work that are queued: gradings, and validations of drills. What differs between them stands here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.gradings.outcomes import Released
from app.gradings.outcomes import release as release_grading
from app.queue.celery import TASK_NAME, VALIDATE_TASK_NAME
from app.store.models import Grading, Validation
from app.store.updates import compare_and_set
from app.validations.outcomes import ValidationState
from app.validations.outcomes import release as release_validation
from graders.verdict import State


@dataclass(frozen=True)
class Work:
    """One kind. ``topic`` is what its listeners follow; ``take_back`` ends an attempt whose worker fell silent, if
    the condition still holds, and says whether it did. ``in_line``: a message stands for a turn, not for the work that
    it names."""

    name: str
    table: type[Grading] | type[Validation]
    task: str
    topic: InstrumentedAttribute[str]
    take_back: Callable[[Session, str, ColumnElement[bool], str, int], bool]
    in_line: bool

    def update(self, session: Session, where: ColumnElement[bool], **values: Any) -> bool:
        """Compare and set: change the row that is still as ``where`` says. False: there is none."""
        return compare_and_set(session, self.table, where, **values)


QUEUED = State.QUEUED.value
HELD = (State.COMPILING.value, State.TESTING.value, State.MEASURING.value, ValidationState.RUNNING.value)
"""States in which a worker holds the work. They are few, and an index finds them among all that has ended."""


def _take_back_grading(
    session: Session, work_id: str, held: ColumnElement[bool], reason: str, max_attempts: int
) -> bool:
    return release_grading(session, work_id, held, reason, max_attempts=max_attempts) is not Released.LOST


def _take_back_validation(
    session: Session, work_id: str, held: ColumnElement[bool], reason: str, max_attempts: int
) -> bool:
    return release_validation(session, work_id, held, reason, max_attempts=max_attempts)


GRADING = Work("grading", Grading, TASK_NAME, Grading.submission_id, _take_back_grading, in_line=True)
VALIDATION = Work(
    "validation", Validation, VALIDATE_TASK_NAME, Validation.drill_version_id, _take_back_validation, in_line=False
)
EVERY_WORK = (GRADING, VALIDATION)
"""All of it, what people wait for most first."""
