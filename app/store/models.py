"""The tables. Portable column types only; every time is aware UTC; ids are time-ordered text."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
    event,
    inspect,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from app.store.columns import UtcDateTime, utc_now
from app.store.ids import new_id

_ID = String(36)
_WORKER_ID = String(320)  # a worker may name itself after its host
_SHA256 = String(64)


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: UtcDateTime, dict[str, Any]: JSON(none_as_null=True), list[Any]: JSON}  # noqa: RUF012


class VersionState(StrEnum):
    """Where a drill version stands. Only a published one is offered to students."""

    VALIDATING = "validating"
    VALID = "valid"
    INVALID = "invalid"
    PUBLISHED = "published"
    RETIRED = "retired"


class User(Base):
    __tablename__ = "users"

    id: Mapped[str] = mapped_column(_ID, primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    role: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[datetime] = mapped_column(default=utc_now)


class Token(Base):
    """A bearer token; only its hash is kept."""

    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(_ID, primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(64))
    sha256: Mapped[str] = mapped_column(_SHA256, unique=True)
    created_at: Mapped[datetime] = mapped_column(default=utc_now)

    user: Mapped[User] = relationship()


class BrowserSession(Base):
    """A signed-in browser. It ends with the token it was made from."""

    __tablename__ = "sessions"

    sha256: Mapped[str] = mapped_column(_SHA256, primary_key=True)
    token_id: Mapped[str] = mapped_column(ForeignKey(Token.id, ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
    expires_at: Mapped[datetime]

    token: Mapped[Token] = relationship()


class Drill(Base):
    __tablename__ = "drills"

    id: Mapped[str] = mapped_column(_ID, primary_key=True, default=new_id)
    slug: Mapped[str] = mapped_column(String(64), unique=True)
    owner_id: Mapped[str | None] = mapped_column(ForeignKey(User.id))  # None: comes with Warpgrade
    created_at: Mapped[datetime] = mapped_column(default=utc_now)


class DrillVersion(Base):
    __tablename__ = "drill_versions"
    __table_args__ = (UniqueConstraint("drill_id", "number"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True, default=new_id)
    drill_id: Mapped[str] = mapped_column(ForeignKey(Drill.id))
    number: Mapped[int]
    digest: Mapped[str] = mapped_column(_SHA256)
    state: Mapped[str] = mapped_column(String(16))
    manifest: Mapped[dict[str, Any]]
    package: Mapped[bytes] = mapped_column(LargeBinary, deferred=True)
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
    published_at: Mapped[datetime | None]
    retired_at: Mapped[datetime | None]

    drill: Mapped[Drill] = relationship()


@event.listens_for(DrillVersion, "before_update")
def _keep_content(_mapper: Any, _connection: Any, version: DrillVersion) -> None:
    """What was graded with a version was graded with its content: that never changes."""
    known = inspect(version)
    for name in ("drill_id", "number", "digest", "manifest", "package"):
        if known.attrs[name].history.has_changes():
            raise ValueError(f"the {name} of a drill version cannot change")


class Queued:
    """What every kind of work has that is queued and then held by one worker at a time."""

    state: Mapped[str] = mapped_column(String(16))
    queue: Mapped[str | None] = mapped_column(String(32))
    attempt: Mapped[int] = mapped_column(default=0)  # of ours at doing it; also fences late results
    worker_id: Mapped[str | None] = mapped_column(_WORKER_ID)
    lease_until: Mapped[datetime | None]
    queued_at: Mapped[datetime] = mapped_column(default=utc_now)
    sent_at: Mapped[datetime | None]
    claimed_at: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    faults: Mapped[list[Any]] = mapped_column(default=list)  # why earlier attempts failed, for staff
    report: Mapped[dict[str, Any] | None]


class Validation(Queued, Base):
    """One run of a drill version through the judge. The newest one says how the version stands."""

    __tablename__ = "validations"
    __table_args__ = (Index("ix_validations_state_queued_at", "state", "queued_at"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True, default=new_id)
    drill_version_id: Mapped[str] = mapped_column(ForeignKey(DrillVersion.id), index=True)
    requested_by: Mapped[str] = mapped_column(ForeignKey(User.id))

    version: Mapped[DrillVersion] = relationship()


class ValidationEvent(Base):
    """What happened while a drill version was validated, numbered per version from 1 without gaps."""

    __tablename__ = "validation_events"

    drill_version_id: Mapped[str] = mapped_column(ForeignKey(DrillVersion.id), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    validation_id: Mapped[str] = mapped_column(ForeignKey(Validation.id))
    type: Mapped[str] = mapped_column(String(16))
    data: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(default=utc_now)


class Submission(Base):
    __tablename__ = "submissions"
    __table_args__ = (
        # What ended through our fault or before it began gives its number back, so only charged ones are distinct.
        Index(
            "uq_submissions_attempt",
            "user_id",
            "drill_id",
            "attempt",
            unique=True,
            sqlite_where=text("charged"),
            postgresql_where=text("charged"),
        ),
        Index("ix_submissions_user_id_created_at", "user_id", "created_at"),
        Index("ix_submissions_drill_id_id", "drill_id", "id"),
    )

    id: Mapped[str] = mapped_column(_ID, primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey(User.id))
    drill_id: Mapped[str] = mapped_column(ForeignKey(Drill.id))
    drill_version_id: Mapped[str] = mapped_column(ForeignKey(DrillVersion.id))
    source: Mapped[str] = mapped_column(Text)
    source_sha: Mapped[str] = mapped_column(_SHA256)
    attempt: Mapped[int]
    charged: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
    cancel_requested_at: Mapped[datetime | None]

    user: Mapped[User] = relationship()
    drill: Mapped[Drill] = relationship()
    version: Mapped[DrillVersion] = relationship()


class Grading(Queued, Base):
    """One judging of a submission. A regrade adds another; exactly one is current."""

    __tablename__ = "gradings"
    __table_args__ = (
        Index(
            "uq_gradings_current",
            "submission_id",
            unique=True,
            sqlite_where=text("is_current"),
            postgresql_where=text("is_current"),
        ),
        Index("ix_gradings_state_queued_at", "state", "queued_at"),
        Index("ix_gradings_finished_at", "finished_at"),
    )

    id: Mapped[str] = mapped_column(_ID, primary_key=True, default=new_id)
    submission_id: Mapped[str] = mapped_column(ForeignKey(Submission.id), index=True)
    drill_version_id: Mapped[str] = mapped_column(ForeignKey(DrillVersion.id))
    is_current: Mapped[bool] = mapped_column(default=True)
    verdict: Mapped[str | None] = mapped_column(String(32))
    score: Mapped[float | None]
    max_score: Mapped[float | None]
    seed: Mapped[str] = mapped_column(String(64))

    submission: Mapped[Submission] = relationship()
    version: Mapped[DrillVersion] = relationship()


class Event(Base):
    """What happened, numbered per submission from 1 without gaps."""

    __tablename__ = "events"

    submission_id: Mapped[str] = mapped_column(ForeignKey(Submission.id), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    grading_id: Mapped[str] = mapped_column(ForeignKey(Grading.id))
    type: Mapped[str] = mapped_column(String(16))
    data: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(default=utc_now)


class CaseRow(Base):
    """One case's result in one attempt at a grading."""

    __tablename__ = "case_rows"

    grading_id: Mapped[str] = mapped_column(ForeignKey(Grading.id), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    ordinal: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    category: Mapped[str] = mapped_column(String(64))
    status: Mapped[str] = mapped_column(String(16))
    result: Mapped[dict[str, Any]]


class Worker(Base):
    """A worker that registered and has not said goodbye."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(_WORKER_ID, primary_key=True)
    queue: Mapped[str] = mapped_column(String(32))
    lane: Mapped[str] = mapped_column(String(16))
    hostname: Mapped[str] = mapped_column(String(255))
    pid: Mapped[int]
    sandbox: Mapped[str] = mapped_column(String(32))
    environment: Mapped[dict[str, Any]]
    healthy: Mapped[bool]
    note: Mapped[str | None] = mapped_column(Text)
    started_at: Mapped[datetime]
    heartbeat_at: Mapped[datetime]


class IdempotencyKey(Base):
    """A client's promise that requests with one key are one request. No submission yet: still in flight."""

    __tablename__ = "idempotency_keys"

    user_id: Mapped[str] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    body_sha256: Mapped[str] = mapped_column(_SHA256)
    submission_id: Mapped[str | None] = mapped_column(ForeignKey(Submission.id))
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
