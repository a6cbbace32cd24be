"""Adding versions of drills, for instructors: upload, validation, publishing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, Depends, Header, Path, Query, Response, status
from fastapi.sse import EventSourceResponse, ServerSentEvent
from sqlalchemy.orm import Session

from app.access.principals import Principal
from app.api.dependencies import AppResources, Caller, Reading
from app.api.openapi import BODIES, CHANGES, problems
from app.drills import service, versions
from app.drills.changes import VersionChanges, changes
from app.drills.following import follow
from app.drills.intake import UPLOAD_DOCUMENTED, UploadedBytes
from app.drills.uploads import read_package
from app.drills.version_schemas import VersionList, VersionOut, VersionSummary
from app.queue.following import LAST_NUMBER, resumed
from app.queue.work import VALIDATION

router = APIRouter(prefix="/drills", tags=["drill versions"])

_ACCEPTED = status.HTTP_202_ACCEPTED
_POLL_AFTER_S = "2"
_ONE = ("forbidden", "unknown-version", "invalid-request")
_CHANGED = (*_ONE, *CHANGES, "wrong-version-state")

Number = Annotated[int, Path(alias="version", ge=1, le=2**31 - 1)]
OtherNumber = Annotated[int, Path(alias="other", ge=1, le=2**31 - 1)]
LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", description="Number of the last event received.")]


@router.post(
    "",
    status_code=_ACCEPTED,
    openapi_extra=UPLOAD_DOCUMENTED,
    responses=problems(*BODIES, "forbidden", "slug-taken", "package-too-large", "package-refused"),
)
def upload_drill(
    caller: Caller, data: UploadedBytes, resources: AppResources, background: BackgroundTasks, response: Response
) -> VersionOut:
    """Add a drill, or the next version of one's own (instructors). Its validation starts: poll ``Location``, or follow
    its events.

    What is wrong with the package's form is a problem at once, with all findings, and nothing is stored. The tree of
    the newest version again is that version.
    """
    package = read_package(data)
    with resources.store.transaction() as session:
        uploaded = versions.upload(session, caller, package)
        shown = _in_full(session, caller, package.slug, uploaded.version.number)
    if uploaded.validation_id is not None:
        background.add_task(resources.dispatcher.dispatch, uploaded.validation_id, VALIDATION)
    response.headers["Location"] = shown.links.self
    return shown


@router.get("/{slug}/versions", responses=problems("forbidden", "unknown-drill"))
def list_versions(slug: str, caller: Caller, session: Reading) -> VersionList:
    """All versions of a drill, newest first (instructors)."""
    return VersionList(items=[VersionSummary.of(listed) for listed in versions.versions_of(session, caller, slug)])


@router.get("/{slug}/versions/{version}", responses=problems(*_ONE))
def read_version(slug: str, number: Number, caller: Caller, session: Reading, response: Response) -> VersionOut:
    """A version with what its validation found (instructors). ``Retry-After`` says that it is still being validated."""
    shown = _in_full(session, caller, slug, number)
    if shown.state == "validating":
        response.headers["Retry-After"] = _POLL_AFTER_S
    return shown


@router.post("/{slug}/versions/{version}/publish", responses=problems(*_CHANGED))
def publish_version(slug: str, number: Number, caller: Caller, resources: AppResources) -> VersionOut:
    """Offer a valid or a retired version to students (the drill's owner and administrators).

    Students get the newest published one.
    """
    with resources.store.transaction() as session:
        versions.publish(session, caller, slug, number)
        return _in_full(session, caller, slug, number)


@router.post("/{slug}/versions/{version}/retire", responses=problems(*_CHANGED))
def retire_version(slug: str, number: Number, caller: Caller, resources: AppResources) -> VersionOut:
    """Offer a published version no longer (the drill's owner and administrators).

    An earlier one that is published takes its place. What was submitted for it is still graded with it.
    """
    with resources.store.transaction() as session:
        versions.retire(session, caller, slug, number)
        return _in_full(session, caller, slug, number)


@router.post("/{slug}/versions/{version}/validate", status_code=_ACCEPTED, responses=problems(*_CHANGED))
def validate_version(
    slug: str, number: Number, caller: Caller, resources: AppResources, background: BackgroundTasks
) -> VersionOut:
    """Validate a valid or an invalid version again (the drill's owner and administrators)."""
    with resources.store.transaction() as session:
        validation_id = versions.validate_again(session, caller, slug, number)
        shown = _in_full(session, caller, slug, number)
    background.add_task(resources.dispatcher.dispatch, validation_id, VALIDATION)
    return shown


@router.get("/{slug}/versions/{version}/diff/{other}", responses=problems(*_ONE))
def compare_versions(slug: str, number: Number, other: OtherNumber, caller: Caller, session: Reading) -> VersionChanges:
    """What changed from ``version`` to ``other`` (instructors)."""
    old, new = (versions.find(session, caller, slug, wanted) for wanted in (number, other))
    return changes(number, service.package_of(session, old), other, service.package_of(session, new))


def require_version(slug: str, number: Number, caller: Caller, session: Reading) -> str:
    """Refuse before the stream begins: once it has, its status can no longer be anything but 200."""
    return versions.find(session, caller, slug, number).id


@router.get("/{slug}/versions/{version}/events", response_class=EventSourceResponse, responses=problems(*_ONE))
async def follow_version(
    version_id: Annotated[str, Depends(require_version)],
    resources: AppResources,
    last_event_id: LastEventId = None,
    after: Annotated[int, Query(ge=0, le=LAST_NUMBER, description="The same, for a first connection.")] = 0,
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events ``state``, ``stage``, ``submission``, ``restarted``, ``done``, numbered by ``id``
    (instructors).

    The stream ends after ``done``; it may end before that, and a client resumes with ``Last-Event-ID``.
    """
    async for event in follow(resources, version_id, resumed(last_event_id, after)):
        yield ServerSentEvent(id=str(event.number), event=event.type, data=event.data)


def _in_full(session: Session, caller: Principal, slug: str, number: int) -> VersionOut:
    view = versions.view(session, caller, slug, number)
    catalogue = service.catalogue_of(session, view.version)
    return VersionOut.in_full(view, catalogue, versions.progress_of(session, view))
