"""The line of gradings that wait, in the order in which they are begun: fair between users.

Each user has a line of their own, first come first served, whose first one is there from the moment at which the one
before it ended. Of all that wait, those with the fewest of the same user before them come first, running ones included;
of those, the one that has been there longest. So whoever sends six is served in turn with those who send one, takes all
workers while nobody else waits, and is kept from the front by nobody for ever.
"""

from __future__ import annotations

from sqlalchemy import Subquery, case, func, select
from sqlalchemy.orm import Session

from app.store.models import Grading, Submission
from graders.verdict import State

RUNNING = (State.COMPILING, State.TESTING, State.MEASURING)

_QUEUED = State.QUEUED.value
_NOT_ENDED = (_QUEUED, *(state.value for state in RUNNING))


def next_waiting(session: Session, queue: str) -> str | None:
    """The grading that is to be begun next of those that were sent to the queue. None: nobody waits."""
    line = _line()
    sent = (line.c.queue == queue, line.c.sent_at.is_not(None))
    return session.scalars(select(line.c.id).where(*sent).order_by(line.c.place).limit(1)).first()


def position(session: Session, grading_id: str) -> int | None:
    """How many gradings are begun before this one, as things stand, plus one. None: it does not wait."""
    line = _line()
    return session.scalars(select(line.c.place).where(line.c.id == grading_id)).one_or_none()


def _line() -> Subquery:
    """All that wait, each with its place, which counts from 1. Reads what waits and runs, and what ended meanwhile."""
    waits = case((Grading.state == _QUEUED, 1), else_=0)
    own_line = func.row_number().over(partition_by=Submission.user_id, order_by=(waits, Grading.queued_at, Grading.id))
    open_ = (
        select(
            Grading.id,
            Grading.state,
            Grading.queue,
            Grading.sent_at,
            Grading.queued_at,
            Submission.user_id,
            own_line.label("of_user"),
        )
        .join(Submission, Grading.submission_id == Submission.id)
        .where(Grading.state.in_(_NOT_ENDED))
        .subquery()
    )
    served = _served()
    there_since = case((served.c.until > open_.c.queued_at, served.c.until), else_=open_.c.queued_at)
    place = func.row_number().over(order_by=(open_.c.of_user, there_since, open_.c.id))
    return (
        select(open_.c.id, open_.c.queue, open_.c.sent_at, place.label("place"))
        .outerjoin(served, served.c.user_id == open_.c.user_id)
        .where(open_.c.state == _QUEUED)
        .subquery()
    )


def _served() -> Subquery:
    """When each user's last grading ended that a worker had begun, of those that ended since the oldest one waits."""
    oldest = select(func.min(Grading.queued_at)).where(Grading.state == _QUEUED).scalar_subquery()
    return (
        select(Submission.user_id, func.max(Grading.finished_at).label("until"))
        .join(Submission, Grading.submission_id == Submission.id)
        .where(Grading.finished_at > oldest, Grading.claimed_at.is_not(None))
        .group_by(Submission.user_id)
        .subquery()
    )
