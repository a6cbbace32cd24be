"""Writing to a database that may be away for a moment: a result that took minutes outlives a restart of PostgreSQL."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.orm import Session

from app.store.engine import AWAY, Store, why_away

PATIENCE_S = 600.0
"""A database that is away for longer is not waited for: whoever finds it again begins the work anew."""

_RETRY_S = 0.5
_log = logging.getLogger(__name__)

T = TypeVar("T")


def write_patiently(store: Store, write: Callable[[Session], T], lost: Callable[[], bool] = lambda: False) -> T:
    """``write`` in a transaction of its own, tried again while the database is away and the claim is not ``lost``.

    A commit whose confirmation was lost is tried again too, so ``write`` must do nothing the second time: what a claim
    fences does. Raises what the database raised last.
    """
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            with store.transaction() as session:
                return write(session)
        except AWAY as error:
            if lost() or time.monotonic() >= deadline:
                raise
            _log.warning("waiting for the database: %s", why_away(error))
        time.sleep(_RETRY_S)


def claim_patiently(
    store: Store, claim: Callable[[Session], T | None], again: Callable[[Session, T], bool]
) -> T | None:
    """``claim`` as ``write_patiently``. One whose commit was not confirmed is held on to ``again`` if it was made: a
    second one would leave it to nobody until its lease ends."""
    made: T | None = None

    def write(session: Session) -> T | None:
        nonlocal made
        if made is None or not again(session, made):
            made = claim(session)
        return made

    return write_patiently(store, write)
