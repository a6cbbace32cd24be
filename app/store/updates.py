"""Conditional updates: the compare-and-set that leases and fences are made of."""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import ColumnElement, CursorResult, update
from sqlalchemy.orm import Session

from app.store.models import Base


def compare_and_set(session: Session, table: type[Base], where: ColumnElement[bool], **values: Any) -> bool:
    """Change the one row that is still as ``where`` says. False: there is none. Objects already loaded are not
    refreshed."""
    statement = update(table).where(where).values(values).execution_options(synchronize_session=False)
    return cast("CursorResult[Any]", session.execute(statement)).rowcount == 1
