"""Drills as instructors handle them: upload, versions, validation, preview, publishing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import APIRouter, BackgroundTasks, Depends, Path, Query, Request, Response
from sqlalchemy.orm import Session

from app.access.principals import Principal, Role
from app.api.dependencies import AppResources, Reading
from app.drills import service as drills
from app.drills import versions
from app.drills.changes import changes
from app.drills.findings import FindingOut
from app.drills.intake import form_file
from app.drills.schemas import DrillOut
from app.drills.uploads import read_package
from app.drills.version_schemas import VersionLinks
from app.drills.versions import ListedVersion, VersionView
from app.errors import Problem
from app.pages.addresses import see_other
from app.pages.rendering import AnyPage, Page, Reader
from app.pages.texts import Speaker
from app.queue.work import VALIDATION
from app.store.engine import Store
from app.store.models import VersionState
from app.validations.outcomes import ValidationState
from graders.limits import PACKAGE_BYTES
from graders.validation import Severity

router = APIRouter(prefix="/instructor")

HOME = "/instructor"
REFUSED = {"package-refused", "package-too-large", "slug-taken", "invalid-request"}

T = TypeVar("T")
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


def require_instructor(reader: Reader) -> Principal:
    """Raises Problem(forbidden)."""
    reader.require(Role.INSTRUCTOR)
    return reader


Instructor = Annotated[Principal, Depends(require_instructor)]


async def read_form(request: Request, _reader: Instructor) -> bytes | Problem:
    """The uploaded file, or why there is none: who may not upload is refused before the body is read."""
    try:
        return await form_file(request)
    except Problem as problem:
        return problem


@router.get("")
def list_drills(page: AnyPage, reader: Instructor, session: Reading) -> Response:
    """The form that takes a drill, and every drill with its newest version."""
    return _list(page, versions.newest_of_each(session, reader))


@router.get("/upload")
def back_to_form() -> Response:
    """For who opens the form's address."""
    return see_other(HOME)


@router.post("/upload")
def upload(
    page: AnyPage,
    reader: Instructor,
    resources: AppResources,
    background: BackgroundTasks,
    data: Annotated[bytes | Problem, Depends(read_form)],
) -> Response:
    """Take a drill in and show its version; else the form again, with all that is wrong."""
    try:
        if isinstance(data, Problem):
            raise data
        package = read_package(data)
        with resources.store.transaction() as session:
            uploaded = versions.upload(session, reader, package)
            number = uploaded.version.number
    except Problem as problem:
        if problem.type.slug not in REFUSED:
            raise
        with resources.store.reading() as session:
            return _list(page, versions.newest_of_each(session, reader), problem)
    if uploaded.validation_id is not None:
        background.add_task(resources.dispatcher.dispatch, uploaded.validation_id, VALIDATION)
    return see_other(_address(package.slug, number))


@router.get("/drills/{slug}")
def show_drill(slug: str, page: AnyPage, reader: Instructor, session: Reading) -> Response:
    """All versions of a drill."""
    found = versions.versions_of(session, reader, slug)
    title = drills.manifest_of(found[0].version).title.text(page.locale)
    return page.render("versions.html", slug=slug, title=title, views=found)


@router.get("/drills/{slug}/diff")
def show_changes(
    slug: str,
    page: AnyPage,
    reader: Instructor,
    session: Reading,
    old: Annotated[int, Query(ge=1, le=2**31 - 1)],
    new: Annotated[int, Query(ge=1, le=2**31 - 1)],
) -> Response:
    """What changed between two versions."""
    before, after = (versions.find(session, reader, slug, number) for number in (old, new))
    found = changes(old, drills.package_of(session, before), new, drills.package_of(session, after))
    title = drills.manifest_of(after).title.text(page.locale)
    return page.render("changes.html", slug=slug, title=title, changes=found)


@router.get("/drills/{slug}/versions/{number}")
def show_version(
    slug: str, number: Number, page: AnyPage, reader: Instructor, session: Reading, resources: AppResources
) -> Response:
    """A version as far as its validation has come, and what can be done with it."""
    view = versions.view(session, reader, slug, number)
    manifest, report = drills.manifest_of(view.version), view.report
    catalogue = drills.catalogue_of(session, view.version)
    findings = [FindingOut.of(finding, catalogue) for finding in report.findings] if report else []
    waiting = view.validation is not None and view.validation.state == ValidationState.QUEUED.value
    offered = drills.published_numbers(session, view.version.drill_id)
    return page.render(
        "version.html",
        view=view,
        current=offered[0] if offered else None,
        current_then=next((number for number in offered if number != view.version.number), None),
        report=report,
        title=manifest.title.text(page.locale),
        say=Speaker(catalogue, page.locale),
        progress=versions.progress_of(session, view),
        errors=[finding for finding in findings if finding.severity is Severity.ERROR],
        warnings=[finding for finding in findings if finding.severity is Severity.WARNING],
        titles={category.name: category.title.text(page.locale) for category in manifest.categories},
        waiting=waiting,
        no_worker=waiting and resources.dispatcher.choose_queue(session) is None,
        actions=_actions(view) if versions.may_change(reader, view.version.drill) else [],
        events=f"{VersionLinks.of(slug, number).events}?after={view.last_event}" if view.running else None,
    )


@router.get("/drills/{slug}/versions/{number}/preview")
def preview(
    slug: str, number: Number, page: AnyPage, reader: Instructor, session: Reading, resources: AppResources
) -> Response:
    """A version as a student will see it."""
    version = versions.find(session, reader, slug, number)
    package = drills.package_of(session, version)
    drill = DrillOut.in_full(version, drills.manifest_of(version), package, resources.settings.limits)
    return page.render(
        "drill.html",
        drill=drill,
        source=drill.starter,
        origin=None,
        error=None,
        preview=_address(slug, number),
        per_hour=resources.settings.submissions_per_hour,
    )


@router.post("/drills/{slug}/versions/{number}/publish")
def publish(slug: str, number: Number, reader: Instructor, resources: AppResources) -> Response:
    """Offer it to students; the page that follows shows how it stands, whatever it was before."""
    _if_it_stands_so(resources.store, lambda session: versions.publish(session, reader, slug, number))
    return see_other(_address(slug, number))


@router.post("/drills/{slug}/versions/{number}/retire")
def retire(slug: str, number: Number, reader: Instructor, resources: AppResources) -> Response:
    """Offer it no longer."""
    _if_it_stands_so(resources.store, lambda session: versions.retire(session, reader, slug, number))
    return see_other(_address(slug, number))


@router.post("/drills/{slug}/versions/{number}/validate")
def validate(
    slug: str, number: Number, reader: Instructor, resources: AppResources, background: BackgroundTasks
) -> Response:
    """Validate it again."""
    validation_id = _if_it_stands_so(
        resources.store, lambda session: versions.validate_again(session, reader, slug, number)
    )
    if validation_id is not None:
        background.add_task(resources.dispatcher.dispatch, validation_id, VALIDATION)
    return see_other(_address(slug, number))


def _list(page: Page, found: list[ListedVersion], problem: Problem | None = None) -> Response:
    findings = problem.extra.get("findings", []) if problem else []
    return page.render(
        "instructor.html",
        status=problem.status if problem else 200,
        own=[view for view in found if page.reader is not None and view.owner == page.reader.name],
        others=[view for view in found if page.reader is None or view.owner != page.reader.name],
        titles={view.slug: drills.manifest_of(view.version).title.text(page.locale) for view in found},
        package_bytes=PACKAGE_BYTES,
        problem=problem.type.slug if problem else None,
        findings=[FindingOut.model_validate(finding) for finding in findings],
    )


def _actions(view: VersionView) -> list[str]:
    """What can be done to a version as it stands."""
    return {
        VersionState.VALIDATING: [],
        VersionState.VALID: ["publish", "validate"],
        VersionState.INVALID: ["validate"],
        VersionState.PUBLISHED: ["retire"],
        VersionState.RETIRED: ["publish"],
    }[view.state]


def _if_it_stands_so(store: Store, change: Callable[[Session], T]) -> T | None:
    """Make a change, unless the version is in another state by now: then its page says so."""
    try:
        with store.transaction() as session:
            return change(session)
    except Problem as problem:
        if problem.type.slug != "wrong-version-state":
            raise
        return None


def _address(slug: str, number: int) -> str:
    return f"{HOME}/drills/{slug}/versions/{number}"
