"""Versions of drills as instructors handle them: uploaded, validated, published, retired. The caller commits.

Every instructor sees every version; what changes one is for the drill's owner and for administrators.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Select, select
from sqlalchemy.orm import Session, joinedload

from app.access.principals import Principal, Role
from app.drills import service
from app.drills.service import SlugTaken
from app.errors import Problem
from app.store.models import Drill, DrillVersion, User, Validation, VersionState
from app.validations import service as validations
from app.validations.events import Progress, last_number, progress
from app.validations.outcomes import ValidationState
from graders.package import Package
from graders.validation import ValidationReport


@dataclass(frozen=True)
class Uploaded:
    """A version, and the validation that has to be dispatched after the commit; None where its tree was known."""

    version: DrillVersion
    validation_id: str | None


@dataclass(frozen=True)
class VersionView:
    """A version with its newest validation. ``current`` is the one that students get; ``last_event`` is where a
    stream goes on; ``owner`` None: it comes with Warpgrade."""

    version: DrillVersion
    owner: str | None
    current: bool
    validation: Validation | None
    last_event: int

    @property
    def running(self) -> bool:
        return self.validation is not None and self.validation.state != ValidationState.DONE.value

    @property
    def slug(self) -> str:
        return self.version.drill.slug

    @property
    def state(self) -> VersionState:
        return VersionState(self.version.state)

    @property
    def report(self) -> ValidationReport | None:
        document = self.validation.report if self.validation else None
        return ValidationReport.model_validate(document) if document else None


def upload(session: Session, caller: Principal, package: Package) -> Uploaded:
    """Enter a package that was read by ``uploads.read_package`` as the drill's next version, and queue its validation.

    The tree of the newest version again is that version. Raises Problem(slug-taken).
    """
    caller.require(Role.INSTRUCTOR)
    drill = service.find_drill(session, package.slug)
    owner_id = (drill.owner_id if drill is not None and may_change(caller, drill) else None) or caller.user_id
    try:
        version = service.add_version(session, package, owner_id=owner_id, state=VersionState.VALIDATING)
    except SlugTaken:
        raise Problem("slug-taken", f"The slug {package.slug!r} belongs to somebody else.") from None
    known = version.state != VersionState.VALIDATING.value or validations.newest(session, version.id) is not None
    return Uploaded(version, None if known else validations.request(session, version, caller.user_id))


def publish(session: Session, caller: Principal, slug: str, number: int) -> DrillVersion:
    """Raises Problem(unknown-version, forbidden, wrong-version-state)."""
    version = _changeable(session, caller, slug, number)
    service.publish(session, version)
    return version


def retire(session: Session, caller: Principal, slug: str, number: int) -> DrillVersion:
    """Raises Problem(unknown-version, forbidden, wrong-version-state)."""
    version = _changeable(session, caller, slug, number)
    service.retire(session, version)
    return version


def validate_again(session: Session, caller: Principal, slug: str, number: int) -> str:
    """Queue another validation, which is to be dispatched. Raises Problem(unknown-version, forbidden,
    wrong-version-state)."""
    version = _changeable(session, caller, slug, number)
    service.require_state(session, version, VersionState.VALID, VersionState.INVALID)
    return validations.request(session, version, caller.user_id)


def find(session: Session, caller: Principal, slug: str, number: int) -> DrillVersion:
    """Raises Problem(forbidden, unknown-version)."""
    caller.require(Role.INSTRUCTOR)
    query = _versions().where(Drill.slug == slug, DrillVersion.number == number)
    version = session.scalars(query).one_or_none()
    if version is None:
        raise Problem("unknown-version", f"There is no version {number} of a drill {slug!r}.")
    return version


def view(session: Session, caller: Principal, slug: str, number: int) -> VersionView:
    """Raises Problem(forbidden, unknown-version)."""
    return _view(session, find(session, caller, slug, number))


def progress_of(session: Session, shown: VersionView) -> Progress | None:
    """How far its validation has come; None while none runs."""
    return progress(session, shown.validation.id) if shown.validation is not None and shown.running else None


def views(session: Session, caller: Principal, slug: str) -> list[VersionView]:
    """All versions of a drill, newest first. Raises Problem(forbidden, unknown-drill)."""
    caller.require(Role.INSTRUCTOR)
    found = session.scalars(_versions().where(Drill.slug == slug).order_by(DrillVersion.number.desc())).all()
    if not found:
        raise Problem("unknown-drill", f"There is no drill {slug!r}.")
    return [_view(session, version) for version in found]


def newest_of_each(session: Session, caller: Principal) -> list[VersionView]:
    """The newest version of every drill, whatever its state, by slug. Raises Problem(forbidden)."""
    caller.require(Role.INSTRUCTOR)
    newest: dict[str, DrillVersion] = {}
    for version in session.scalars(_versions().order_by(DrillVersion.number.desc())):
        newest.setdefault(version.drill.slug, version)
    return [_view(session, version) for _, version in sorted(newest.items())]  # by bytes, not in a database's language


def may_change(caller: Principal, drill: Drill) -> bool:
    """Whether the caller may upload, publish and retire versions of the drill, as far as that is possible at all."""
    return caller.role is Role.ADMIN or (caller.role is Role.INSTRUCTOR and drill.owner_id == caller.user_id)


def _changeable(session: Session, caller: Principal, slug: str, number: int) -> DrillVersion:
    version = find(session, caller, slug, number)
    if not may_change(caller, version.drill):
        raise Problem("forbidden", f"The drill {slug!r} belongs to somebody else.")
    return version


def _view(session: Session, version: DrillVersion) -> VersionView:
    current = service.published(session, version.drill.slug)
    owner_id = version.drill.owner_id
    return VersionView(
        version=version,
        owner=session.get_one(User, owner_id).name if owner_id else None,
        current=current is not None and current.id == version.id,
        validation=validations.newest(session, version.id),
        last_event=last_number(session, version.id),
    )


def _versions() -> Select[DrillVersion]:
    return select(DrillVersion).join(Drill, DrillVersion.drill_id == Drill.id).options(joinedload(DrillVersion.drill))
