"""Versions of drills as instructors handle them: uploaded, validated, published, retired. The caller commits.

Every instructor sees every version; what changes one is for the drill's owner and for administrators.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Select, and_, func, select
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
class ListedVersion:
    """A version as lists show it. ``current`` is the one that students get; ``owner`` None: it comes with Warpgrade."""

    version: DrillVersion
    owner: str | None
    current: bool

    @property
    def slug(self) -> str:
        return self.version.drill.slug

    @property
    def state(self) -> VersionState:
        return VersionState(self.version.state)


@dataclass(frozen=True)
class VersionView(ListedVersion):
    """A version with its newest validation. ``last_event`` is where a stream goes on."""

    validation: Validation | None
    last_event: int

    @property
    def running(self) -> bool:
        return self.validation is not None and self.validation.state != ValidationState.DONE.value

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
    version = find(session, caller, slug, number)
    (listed,) = _listed(session, _listing().where(DrillVersion.id == version.id))
    return VersionView(
        **vars(listed), validation=validations.newest(session, version.id), last_event=last_number(session, version.id)
    )


def progress_of(session: Session, shown: VersionView) -> Progress | None:
    """How far its validation has come; None while none runs."""
    return progress(session, shown.validation.id) if shown.validation is not None and shown.running else None


def versions_of(session: Session, caller: Principal, slug: str) -> list[ListedVersion]:
    """All versions of a drill, newest first. Raises Problem(forbidden, unknown-drill)."""
    caller.require(Role.INSTRUCTOR)
    found = _listed(session, _listing().where(Drill.slug == slug).order_by(DrillVersion.number.desc()))
    if not found:
        raise Problem("unknown-drill", f"There is no drill {slug!r}.")
    return found


def newest_of_each(session: Session, caller: Principal) -> list[ListedVersion]:
    """The newest version of every drill, whatever its state, by slug. Raises Problem(forbidden)."""
    caller.require(Role.INSTRUCTOR)
    newest = _greatest_numbers().subquery()
    of_a_drill = and_(newest.c.drill_id == DrillVersion.drill_id, newest.c.number == DrillVersion.number)
    found = _listed(session, _listing().join(newest, of_a_drill))
    return sorted(found, key=lambda listed: listed.slug)  # by bytes, not in a database's language


def may_change(caller: Principal, drill: Drill) -> bool:
    """Whether the caller may upload, publish and retire versions of the drill, as far as that is possible at all."""
    return caller.role is Role.ADMIN or (caller.role is Role.INSTRUCTOR and drill.owner_id == caller.user_id)


def _changeable(session: Session, caller: Principal, slug: str, number: int) -> DrillVersion:
    version = find(session, caller, slug, number)
    if not may_change(caller, version.drill):
        raise Problem("forbidden", f"The drill {slug!r} belongs to somebody else.")
    return version


def _listed(session: Session, query: Select[DrillVersion, str | None, int | None]) -> list[ListedVersion]:
    return [
        ListedVersion(version=version, owner=owner, current=version.number == current)
        for version, owner, current in session.execute(query)
    ]


def _listing() -> Select[DrillVersion, str | None, int | None]:
    """Versions, each with its owner's name and the number of the drill's version that students get."""
    current = _greatest_numbers().where(DrillVersion.state == VersionState.PUBLISHED.value).subquery()
    return (
        _versions()
        .outerjoin(User, Drill.owner_id == User.id)
        .outerjoin(current, current.c.drill_id == DrillVersion.drill_id)
        .add_columns(User.name, current.c.number)
    )


def _greatest_numbers() -> Select[str, int]:
    number = func.max(DrillVersion.number).label("number")
    return select(DrillVersion.drill_id, number).group_by(DrillVersion.drill_id)


def _versions() -> Select[DrillVersion]:
    return select(DrillVersion).join(Drill, DrillVersion.drill_id == Drill.id).options(joinedload(DrillVersion.drill))
