"""Drills as the service knows them: versions of a package, one of which students are offered."""

from __future__ import annotations

import logging
import threading

from sqlalchemy import Select, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload, undefer

from app.errors import Problem
from app.store.columns import utc_now
from app.store.models import Drill, DrillVersion, VersionState
from graders.catalogue import LOCALES, Catalogue, judge_catalogue
from graders.manifest import Manifest, ManifestError
from graders.package import Package, built_in_drills

_log = logging.getLogger(__name__)

_MOST_CATALOGUES = 64
_catalogues: dict[str, Catalogue] = {}  # by digest, those asked for last at the end
_keeping = threading.Lock()


class SlugTaken(Exception):
    """The slug belongs to another uploader."""


def add_version(session: Session, package: Package, *, owner_id: str | None, state: VersionState) -> DrillVersion:
    """Enter a package as the drill's next version; the tree of the newest version again is that version.

    Raises ManifestError when the manifest cannot be used, SlugTaken when somebody else owns the slug.
    ``owner_id`` None is Warpgrade itself.
    """
    manifest = package.manifest
    if manifest.slug != package.slug:
        raise ManifestError(f"slug: drill.toml says {manifest.slug!r}, its folder {package.slug!r}")
    drill = find_drill(session, package.slug) or _new_drill(session, package.slug, owner_id)
    if drill.owner_id != owner_id:
        raise SlugTaken(package.slug)
    newest = _newest(session, drill)
    if newest is not None and newest.digest == package.digest:
        return newest
    version = DrillVersion(
        drill=drill,
        number=newest.number + 1 if newest else 1,
        digest=package.digest,
        state=state.value,
        manifest=manifest.model_dump(mode="json"),
        package=package.to_zip(),
    )
    session.add(version)
    session.flush()
    return version


def publish(session: Session, version: DrillVersion) -> None:
    """Offer a version to students that was found valid, or that was offered before. Raises Problem."""
    require_state(session, version, VersionState.VALID, VersionState.RETIRED)
    version.state = VersionState.PUBLISHED.value
    version.published_at, version.retired_at = utc_now(), None
    session.flush()


def retire(session: Session, version: DrillVersion) -> None:
    """Offer a published version no longer: an earlier one that is published takes its place. Raises Problem.

    What was submitted for it keeps it, and is still graded with it.
    """
    require_state(session, version, VersionState.PUBLISHED)
    version.state = VersionState.RETIRED.value
    version.retired_at = utc_now()
    session.flush()


def require_state(session: Session, version: DrillVersion, *states: VersionState) -> None:
    """Lock the version for the rest of the transaction. Raises Problem(wrong-version-state)."""
    session.refresh(version, with_for_update={"of": DrillVersion, "key_share": True})
    if version.state not in states:
        raise Problem("wrong-version-state", f"Version {version.number} is {version.state}.")


def find_drill(session: Session, slug: str) -> Drill | None:
    """The drill of that slug, locked for the rest of a writing transaction."""
    return session.scalars(select(Drill).where(Drill.slug == slug).with_for_update(key_share=True)).one_or_none()


def load_built_in(session: Session) -> None:
    """Publish the drills that come with Warpgrade: a new version where the tree has changed, else nothing.

    A drill that was retired stays so: its new version waits to be published by an administrator.
    """
    for slug in built_in_drills():
        try:
            version = add_version(session, Package.from_tree(slug), owner_id=None, state=VersionState.VALID)
        except SlugTaken:
            _log.warning("the built-in drill %s is hidden by an uploaded one of the same name", slug)
            continue
        if version.state == VersionState.VALID.value and not _withdrawn(session, version):
            publish(session, version)


def published(session: Session, slug: str) -> DrillVersion | None:
    """The version that students get now: the newest published one."""
    return session.scalars(_published().where(Drill.slug == slug).limit(1)).first()


def published_numbers(session: Session, drill_id: str) -> list[int]:
    """The drill's published versions, the one that students get first: each takes the place of the one before it, once
    that is retired."""
    return list(session.scalars(_published().with_only_columns(DrillVersion.number).where(Drill.id == drill_id)))


def all_published(session: Session) -> list[DrillVersion]:
    """Every drill's current version, by slug."""
    newest: dict[str, DrillVersion] = {}
    for version in session.scalars(_published()):
        newest.setdefault(version.drill_id, version)
    return sorted(newest.values(), key=lambda version: version.drill.slug)


def manifest_of(version: DrillVersion) -> Manifest:
    """The version's manifest."""
    return Manifest.model_validate(version.manifest)


def package_of(session: Session, version: DrillVersion) -> Package:
    """The version's files. Costs a read of the whole package."""
    query = select(DrillVersion).where(DrillVersion.id == version.id).options(undefer(DrillVersion.package))
    loaded = session.scalars(query.execution_options(populate_existing=True)).one()
    return Package.from_zip(manifest_of(version).slug, loaded.package)


def catalogue_of(session: Session, version: DrillVersion) -> Catalogue:
    """The sentences that reports of this version speak with: the judge's and the drill's own.

    Those that were asked for last are kept: a version never changes, and its whole package would be read for them.
    """
    with _keeping:
        kept = _catalogues.pop(version.digest, None)
    if kept is None:
        package = package_of(session, version)
        kept = judge_catalogue().extended({locale: package.sentences(locale) for locale in LOCALES})
    with _keeping:
        _catalogues[version.digest] = kept
        while len(_catalogues) > _MOST_CATALOGUES:
            del _catalogues[next(iter(_catalogues))]
    return kept


def _published() -> Select[DrillVersion]:
    return (
        select(DrillVersion)
        .join(Drill, DrillVersion.drill_id == Drill.id)
        .options(joinedload(DrillVersion.drill))
        .where(DrillVersion.state == VersionState.PUBLISHED.value)
        .order_by(DrillVersion.number.desc())
    )


def _new_drill(session: Session, slug: str, owner_id: str | None) -> Drill:
    """A drill of its own, or the one that another process made at the same moment."""
    drill = Drill(slug=slug, owner_id=owner_id)
    try:
        with session.begin_nested():
            session.add(drill)
    except IntegrityError as error:
        found = find_drill(session, slug)
        if found is None:
            raise error
        return found
    return drill


def _withdrawn(session: Session, version: DrillVersion) -> bool:
    """Whether the version before it is not offered."""
    earlier = select(DrillVersion.state).where(
        DrillVersion.drill_id == version.drill_id, DrillVersion.number < version.number
    )
    state = session.scalars(earlier.order_by(DrillVersion.number.desc()).limit(1)).first()
    return state not in (None, VersionState.PUBLISHED.value)


def _newest(session: Session, drill: Drill) -> DrillVersion | None:
    query = select(DrillVersion).where(DrillVersion.drill_id == drill.id).order_by(DrillVersion.number.desc())
    return session.scalars(query.limit(1)).first()
