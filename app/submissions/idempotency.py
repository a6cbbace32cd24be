"""``Idempotency-Key``: requests of one user with one key are one request, however often it is repeated.

The key is reserved in a transaction of its own, so that a repetition meets it while the first request is
still being worked on.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, delete, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.errors import FieldError, Problem
from app.store.columns import utc_now
from app.store.engine import Store
from app.store.models import IdempotencyKey

_ABANDONED = timedelta(minutes=1)  # a process that died between reserving and answering
_KEY_CHARACTERS = 255


def fingerprint(*parts: str) -> str:
    """What makes two requests the same, whatever form they came in."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()


def reserve(store: Store, user_id: str, key: str, body_sha256: str) -> str | None:
    """Reserve a key. Returns the submission that an earlier request with it made, or None: go ahead.

    Raises Problem(invalid-request, idempotency-mismatch, request-in-flight).
    """
    if not (0 < len(key) <= _KEY_CHARACTERS and key.isprintable()):
        detail = f"1 to {_KEY_CHARACTERS} printable characters are allowed"
        raise Problem("invalid-request", detail, errors=[FieldError("Idempotency-Key", "malformed", detail)])
    try:
        with store.transaction() as session:
            return _reserve(session, user_id, key, body_sha256)
    except IntegrityError:  # another process reserved it between our look and our insert
        raise _in_flight() from None


def complete(session: Session, user_id: str, key: str, submission_id: str) -> None:
    """Keep the answer, in the transaction that makes the submission."""
    session.execute(update(IdempotencyKey).where(_is(user_id, key)).values(submission_id=submission_id))


def abandon(store: Store, user_id: str, key: str) -> None:
    """Free a key whose request was refused: it may be sent again, corrected."""
    with store.transaction() as session:
        session.execute(delete(IdempotencyKey).where(_is(user_id, key), IdempotencyKey.submission_id.is_(None)))


def _reserve(session: Session, user_id: str, key: str, body_sha256: str) -> str | None:
    known = session.get(IdempotencyKey, (user_id, key), with_for_update={"key_share": True})
    if known is None:
        session.add(IdempotencyKey(user_id=user_id, key=key, body_sha256=body_sha256))
        return None
    if known.body_sha256 != body_sha256:
        raise Problem("idempotency-mismatch", "This Idempotency-Key was used with another body.")
    if known.submission_id is None and known.created_at > utc_now() - _ABANDONED:
        raise _in_flight()
    known.created_at = utc_now() if known.submission_id is None else known.created_at
    return known.submission_id


def _in_flight() -> Problem:
    return Problem(
        "request-in-flight", "The first request with this Idempotency-Key is not done.", headers={"Retry-After": "1"}
    )


def _is(user_id: str, key: str) -> ColumnElement[bool]:
    return and_(IdempotencyKey.user_id == user_id, IdempotencyKey.key == key)
