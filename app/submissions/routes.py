"""Submitting, reading, following and cancelling."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, BackgroundTasks, Depends, Header, Query, Response, status
from fastapi.sse import EventSourceResponse, ServerSentEvent

from app.access.principals import Principal
from app.api.dependencies import AppResources, Caller, Reading
from app.api.openapi import BODIES, CHANGES, problems
from app.drills.service import catalogue_of
from app.queue.following import LAST_NUMBER, resumed
from app.submissions import service, views
from app.submissions.following import follow
from app.submissions.intake import BODY_DOCUMENTED, IncomingOrder
from app.submissions.schemas import Links, SubmissionAccepted, SubmissionList, SubmissionOut, SubmissionSummary

router = APIRouter(prefix="/submissions", tags=["submissions"])

_POLL_AFTER_S = "1"
_ACCEPTED = status.HTTP_202_ACCEPTED
_SUBMITTING = (
    *BODIES,
    *("unknown-drill", "request-in-flight", "source-too-large", "source-empty", "source-not-text"),
    *("idempotency-mismatch", "too-many-submissions"),
)

IdempotencyKey = Annotated[str | None, Header(description="Repeat a request with its key: it is done once.")]
LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", description="Number of the last event received.")]
Cursor = Annotated[UUID | None, Query(description="Where an earlier page ended.")]
Limit = Annotated[int, Query(ge=1, le=100)]


@router.post("", status_code=_ACCEPTED, openapi_extra=BODY_DOCUMENTED, responses=problems(*_SUBMITTING))
def submit(
    caller: Caller,
    order: IncomingOrder,
    resources: AppResources,
    background: BackgroundTasks,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> SubmissionAccepted:
    """Queue a source file for judging. Poll ``Location``, or follow its events."""
    per_hour = resources.settings.submissions_per_hour
    submitted, made_now = service.submit_once(
        resources.store, caller, order.drill, order.source, per_hour=per_hour, key=idempotency_key
    )
    if made_now:
        background.add_task(resources.dispatcher.dispatch, submitted.grading_id)
    else:
        response.headers["Idempotency-Replayed"] = "true"
    response.headers["Location"] = Links.of(submitted.submission_id).self
    with resources.store.reading() as session:
        return SubmissionAccepted.of(views.view(session, caller, submitted.submission_id))


@router.get("", responses=problems("invalid-request"))
def list_submissions(
    caller: Caller,
    session: Reading,
    response: Response,
    drill: Annotated[str | None, Query(max_length=64)] = None,
    user: Annotated[str | None, Query(max_length=64, description="A name or an id; students see their own.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> SubmissionList:
    """Submissions, newest first."""
    page = views.listing(session, caller, drill=drill, user=user, cursor=cursor, limit=limit)
    following = None
    if page.next_cursor is not None:
        query = {"drill": drill, "user": user, "cursor": page.next_cursor, "limit": limit}
        following = f"/api/v1/submissions?{urlencode({k: v for k, v in query.items() if v is not None})}"
        response.headers["Link"] = f'<{following}>; rel="next"'
    return SubmissionList(items=[SubmissionSummary.of(grading) for grading in page.items], next=following)


@router.get("/{submission_id}", responses=problems("not-found"))
def read_submission(submission_id: str, caller: Caller, session: Reading, response: Response) -> SubmissionOut:
    """The report, as far as it is known and as far as you may see it. ``Retry-After`` says that more will come."""
    view = views.view(session, caller, submission_id)
    if not view.state.final:
        response.headers["Retry-After"] = _POLL_AFTER_S
    return SubmissionOut.in_full(view, catalogue_of(session, view.grading.version))


@router.post(
    "/{submission_id}/cancel",
    status_code=_ACCEPTED,
    responses=problems(*CHANGES, "not-found", "already-finished"),
)
def cancel_submission(
    submission_id: str, caller: Caller, resources: AppResources, background: BackgroundTasks
) -> SubmissionAccepted:
    """Cancel a submission: at once while it is queued, else as soon as its worker has noticed."""
    with resources.store.transaction() as session:
        service.request_cancel(session, views.readable(session, caller, submission_id))
        accepted = SubmissionAccepted.of(views.view(session, caller, submission_id))
    background.add_task(resources.wakeups.publish, submission_id)
    return accepted


def require_readable(submission_id: str, caller: Caller, session: Reading) -> Principal:
    """Refuse before the stream begins: once it has, its status can no longer be anything but 200."""
    views.readable(session, caller, submission_id)
    return caller


async def open_stream(
    reader: Annotated[Principal, Depends(require_readable)], resources: AppResources
) -> AsyncIterator[Principal]:
    """The reader, whose stream is counted until it has ended."""
    most = None if reader.staff else resources.settings.streams
    with resources.streams.opened(reader.user_id, most):
        yield reader


@router.get(
    "/{submission_id}/events",
    response_class=EventSourceResponse,
    responses=problems("not-found", "invalid-request", "too-many-streams"),
)
async def follow_submission(
    submission_id: str,
    reader: Annotated[Principal, Depends(open_stream)],
    resources: AppResources,
    last_event_id: LastEventId = None,
    after: Annotated[int, Query(ge=0, le=LAST_NUMBER, description="The same, for a first connection.")] = 0,
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events ``state``, ``case``, ``restarted``, ``done``, numbered by ``id``.

    A ``case`` is as in the report, its sentences in both languages beside their keys. The stream ends after ``done``;
    it may end before that, and a client resumes with ``Last-Event-ID``.
    """
    async for event in follow(resources, submission_id, staff=reader.staff, after=resumed(last_event_id, after)):
        yield ServerSentEvent(id=str(event.number), event=event.type.value, data=event.data)
