"""Conditional updates: the compare-and-set that leases and fences are made of."""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import CursorResult
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import UpdateBase


def rows_changed(session: Session, statement: UpdateBase) -> int:
    """Run an UPDATE or DELETE and return how many rows it met. Objects already loaded are not refreshed."""
    result = session.execute(statement.execution_options(synchronize_session=False))
    return cast("CursorResult[Any]", result).rowcount
