"""A submission with its progress and report, the list of them, and cancelling."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, BackgroundTasks, Query, Response
from sqlalchemy.orm import Session

from app.api.dependencies import AppResources, Reading
from app.drills import service as drills
from app.drills.case_counts import known_cases
from app.errors import Problem
from app.pages.addresses import see_other
from app.pages.rendering import AnyPage, Reader
from app.pages.source import annotated_lines
from app.pages.speed_plot import speed_plot
from app.pages.texts import Speaker
from app.store.models import Grading
from app.submissions import comparison, service, views
from app.submissions.schemas import Links
from graders.manifest import Manifest
from graders.report import CaseResult
from graders.verdict import CaseStatus, State

router = APIRouter()

_FAILURES = (CaseStatus.FAILED, CaseStatus.ERROR)


@router.get("/submissions")
def list_submissions(
    page: AnyPage,
    reader: Reader,
    session: Reading,
    drill: Annotated[str, Query(max_length=64)] = "",
    user: Annotated[str, Query(max_length=64)] = "",
    cursor: UUID | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> Response:
    """The reader's submissions, newest first; staff see everybody's."""
    found = views.listing(session, reader, drill=drill or None, user=user or None, cursor=cursor, limit=limit)
    chosen = {name: value for name, value in (("drill", drill), ("user", user)) if value}
    return page.render(
        "submissions.html",
        gradings=found.items,
        titles={grading.version.id: drills.manifest_of(grading.version).title for grading in found.items},
        offered=_offered(session, page.locale, drill, found.items),
        drill=drill,
        user=user,
        newest=f"/submissions?{urlencode(chosen)}" if cursor else None,
        older=f"/submissions?{urlencode({**chosen, 'cursor': found.next_cursor, 'limit': limit})}"
        if found.next_cursor
        else None,
    )


@router.get("/submissions/{submission_id}")
def show_submission(
    submission_id: str, page: AnyPage, reader: Reader, session: Reading, resources: AppResources
) -> Response:
    """A submission as far as it has come, for its author and staff."""
    view = views.view(session, reader, submission_id)
    manifest = drills.manifest_of(view.grading.version)
    report = view.report
    waiting = view.state is State.QUEUED
    return page.render(
        "submission.html",
        view=view,
        report=report,
        manifest=manifest,
        say=Speaker(drills.catalogue_of(session, view.grading.version), page.locale),
        titles=_titles(manifest, page.locale),
        first_failure=_first_failure(view.cases),
        plot=speed_plot(report.performance.shapes) if report else None,
        lines=annotated_lines(view.submission.source, report.annotations if report else []),
        total=None if view.state.final or not view.cases else known_cases(session, view.grading.version),
        no_worker=waiting and resources.dispatcher.choose_queue(session) is None,
        earlier=comparison.earlier(session, view.submission) if report else None,
        events=None if view.state.final else f"{Links.of(submission_id).events}?after={view.last_event}",
    )


@router.get("/submissions/{submission_id}/changes")
def show_changes(submission_id: str, page: AnyPage, reader: Reader, session: Reading) -> Response:
    """A graded submission beside its author's one before it."""
    after = views.view(session, reader, submission_id)
    found = comparison.earlier(session, after.submission)
    if after.report is None or found is None:
        raise Problem("not-found", "There is no graded submission before this one to compare it with.")
    manifest = drills.manifest_of(after.grading.version)
    return page.render(
        "comparison.html",
        comparison=comparison.compare(views.view(session, reader, found.id), after),
        manifest=manifest,
        titles=_titles(manifest, page.locale),
    )


@router.post("/submissions/{submission_id}/cancel")
def cancel_submission(
    submission_id: str, reader: Reader, resources: AppResources, background: BackgroundTasks
) -> Response:
    """Cancel, and show the submission: if it was done before, the page says so."""
    try:
        with resources.store.transaction() as session:
            service.request_cancel(session, views.readable(session, reader, submission_id))
    except Problem as problem:
        if problem.type.slug != "already-finished":
            raise
    background.add_task(resources.wakeups.publish, submission_id)
    return see_other(f"/submissions/{submission_id}")


def _offered(session: Session, locale: str, drill: str, listed: list[Grading]) -> dict[str, str]:
    """The titles of the drills to filter by: what is published, and what the list is filtered by now. Of a drill that
    is not published the reader learns nothing that is not in the list."""
    published = map(drills.manifest_of, drills.all_published(session))
    offered = {manifest.slug: manifest.title.text(locale) for manifest in published}
    if drill and drill not in offered:
        offered[drill] = drills.manifest_of(listed[0].version).title.text(locale) if listed else drill
    return offered


def _titles(manifest: Manifest, locale: str) -> dict[str, str]:
    """Of the drill's categories, by name."""
    return {category.name: category.title.text(locale) for category in manifest.categories}


def _first_failure(cases: list[CaseResult]) -> int | None:
    """The ordinal of the first case that failed."""
    return next((case.ordinal for case in cases if case.status in _FAILURES), None)
