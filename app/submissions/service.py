"""Taking submissions in and cancelling them. The caller commits, then dispatches what was queued."""

from __future__ import annotations

import hashlib
import math
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.access.principals import Principal
from app.drills.service import published
from app.errors import FieldError, Problem
from app.gradings.outcomes import cancel
from app.store.columns import utc_now
from app.store.engine import Store
from app.store.models import Grading, Submission, User
from app.submissions import idempotency
from graders.limits import SOURCE_BYTES
from graders.verdict import State

_WINDOW = timedelta(hours=1)


@dataclass(frozen=True)
class Submitted:
    """What was taken in. ``grading_id`` is to be dispatched after the commit."""

    submission_id: str
    grading_id: str


def source_text(source: str | bytes) -> str:
    """A submission's text, as it is kept. Raises Problem(source-too-large, source-not-text, source-empty)."""
    try:
        encoded = source if isinstance(source, bytes) else source.encode()
        if len(encoded) > SOURCE_BYTES:  # before it is decoded: the end of a file read in part may be half a character
            raise _unreadable("source-too-large", "too_large", f"The source has more than {SOURCE_BYTES} bytes.")
        text = encoded.decode().removeprefix("\ufeff")
    except UnicodeError:
        raise _unreadable("source-not-text", "not_utf8", "The source is not UTF-8 text.") from None
    if "\0" in text:
        raise _unreadable("source-not-text", "nul", "The source contains a NUL character.")
    if not text.strip():
        raise _unreadable("source-empty", "empty", "The source is empty.")
    return text


def submit(session: Session, principal: Principal, slug: str, source: str, *, per_hour: int) -> Submitted:
    """Queue ``source`` (from ``source_text``) for the drill's current version.

    ``per_hour`` binds the role student. Raises Problem(unknown-drill, too-many-submissions).
    """
    version = published(session, slug)
    if version is None:
        raise Problem(
            "unknown-drill",
            f"There is no published drill {slug!r}.",
            errors=[FieldError("drill", "unknown", "not a published drill")],
        )
    # One submission of a user at a time, so that the count and the attempt number below stay true.
    session.execute(select(User.id).where(User.id == principal.user_id).with_for_update(key_share=True))
    if not principal.staff:
        _check_quota(session, principal.user_id, per_hour)
    submission = Submission(
        user_id=principal.user_id,
        drill_id=version.drill_id,
        drill_version_id=version.id,
        source=source,
        source_sha=hashlib.sha256(source.encode()).hexdigest(),
        attempt=_next_attempt(session, principal.user_id, version.drill_id),
    )
    session.add(submission)
    session.flush()
    grading = Grading(
        submission_id=submission.id,
        drill_version_id=version.id,
        state=State.QUEUED.value,
        seed=secrets.token_hex(32),
    )
    session.add(grading)
    session.flush()
    return Submitted(submission.id, grading.id)


def submit_once(
    store: Store, principal: Principal, slug: str, source: str, *, per_hour: int, key: str | None
) -> tuple[Submitted, bool]:
    """``submit`` in a transaction of its own, at most once for an Idempotency-Key. True: it was made now, dispatch it.

    Raises what ``submit`` and ``idempotency.reserve`` raise.
    """
    if key is not None:
        earlier = idempotency.reserve(store, principal.user_id, key, idempotency.fingerprint(slug, source))
        if earlier is not None:
            with store.reading() as session:
                current = select(Grading.id).where(Grading.submission_id == earlier, Grading.is_current)
                return Submitted(earlier, session.scalars(current).one()), False
    try:
        with store.transaction() as session:
            submitted = submit(session, principal, slug, source, per_hour=per_hour)
            if key is not None:
                idempotency.complete(session, principal.user_id, key, submitted.submission_id)
    except Problem:
        if key is not None:
            idempotency.abandon(store, principal.user_id, key)
        raise
    return submitted, True


def request_cancel(session: Session, submission: Submission) -> None:
    """Cancel a submission: at once while it is queued, else as soon as its worker has noticed.

    What no worker has begun costs nothing: it leaves the quota and gives its attempt number back. Asking again is no
    error. Raises Problem(already-finished).
    """
    grading = session.scalars(
        select(Grading)
        .where(Grading.submission_id == submission.id, Grading.is_current)
        .with_for_update(key_share=True)
    ).one()
    if grading.state == State.CANCELLED.value:
        return
    if grading.state == State.DONE.value:
        raise Problem("already-finished", f"Submission {submission.id} is done.")
    submission.cancel_requested_at = submission.cancel_requested_at or utc_now()
    session.flush()
    queued = (Grading.id == grading.id) & (Grading.state == State.QUEUED.value)
    if cancel(session, submission.id, grading.id, queued) and grading.attempt == 0:
        submission.charged = False
        session.flush()
    session.expire(grading)


def _check_quota(session: Session, user_id: str, per_hour: int) -> None:
    """What is not charged is counted by itself: whoever can bring our faults about, or cancels, has no more of it
    either."""
    now = utc_now()
    for charged in (True, False):
        recent = (Submission.user_id == user_id, Submission.created_at > now - _WINDOW, Submission.charged == charged)
        count = session.scalars(select(func.count()).select_from(Submission).where(*recent)).one()
        if count >= per_hour:
            made = select(Submission.created_at).where(*recent).order_by(Submission.created_at)
            frees = session.scalars(made.offset(count - per_hour).limit(1)).one() + _WINDOW
            raise _too_many(count, per_hour, _seconds_until(frees, now))


def _too_many(count: int, per_hour: int, wait_s: int) -> Problem:
    return Problem(
        "too-many-submissions",
        f"You have sent {count} submissions within an hour; {per_hour} are allowed. Try again in {wait_s} s.",
        headers={"Retry-After": str(wait_s)},
    )


def _seconds_until(then: datetime, now: datetime) -> int:
    return max(1, math.ceil((then - now).total_seconds()))


def _next_attempt(session: Session, user_id: str, drill_id: str) -> int:
    mine = (Submission.user_id == user_id, Submission.drill_id == drill_id, Submission.charged)
    return session.scalars(select(func.coalesce(func.max(Submission.attempt), 0)).where(*mine)).one() + 1


def _unreadable(slug: str, code: str, detail: str) -> Problem:
    return Problem(slug, detail, errors=[FieldError("source", code, detail)])
