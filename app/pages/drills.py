"""The list of drills, and a drill with its form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, File, Form, Query, Response, UploadFile
from sqlalchemy.orm import Session

from app.api.dependencies import AppResources, Reading
from app.drills import service as drills
from app.drills.schemas import DrillOut, DrillSummary
from app.errors import Problem
from app.pages.addresses import see_other
from app.pages.rendering import AnyPage, Page, Reader
from app.pages.texts import Speaker
from app.resources import Resources
from app.submissions import service as submissions
from app.submissions import views
from graders.limits import SOURCE_BYTES

router = APIRouter()

_MINUTE_S = 60
_SOURCE_PROBLEMS = {"source-empty", "source-too-large", "source-not-text"}


@dataclass(frozen=True)
class FormError:
    """What is wrong with the form. ``field`` is source or file, or None for the whole."""

    field: str | None
    text: str


@router.get("/")
def list_drills(page: AnyPage, reader: Reader, session: Reading) -> Response:
    """Every drill, with the reader's best result."""
    best = views.best_by_drill(session, reader)
    rows = [
        (DrillSummary.of(version, drills.manifest_of(version)), best.get(version.drill_id))
        for version in drills.all_published(session)
    ]
    return page.render("drills.html", rows=rows)


@router.get("/drills/{slug}")
def show_drill(
    slug: str,
    page: AnyPage,
    reader: Reader,
    session: Reading,
    resources: AppResources,
    origin: Annotated[str | None, Query(alias="from", max_length=36)] = None,
) -> Response:
    """A drill; its form starts with the starter, or with the submission that ``from`` names."""
    drill = _drill(session, resources, slug)
    earlier = views.view(session, reader, origin) if origin else None
    return page.render(
        "drill.html",
        drill=drill,
        source=earlier.submission.source if earlier else drill.starter,
        origin=earlier,
        say=Speaker(drills.catalogue_of(session, earlier.grading.version), page.locale) if earlier else None,
        error=None,
        preview=None,
        per_hour=resources.settings.submissions_per_hour,
    )


@router.get("/drills/{slug}/submit")
def back_to_drill(slug: str) -> Response:
    """For who opens the form's address."""
    return see_other(f"/drills/{slug}")


@router.post("/drills/{slug}/submit")
def submit(
    slug: str,
    page: AnyPage,
    reader: Reader,
    resources: AppResources,
    background: BackgroundTasks,
    source: Annotated[str, Form()] = "",
    file: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """Queue what the form holds, a file before the text, and show the submission; else the form again."""
    text = source.replace("\r\n", "\n")  # as forms send their lines
    upload = file if file is not None and file.filename else None
    try:
        taken = submissions.source_text(upload.file.read(SOURCE_BYTES + 1) if upload else text)
        submitted, _ = submissions.submit_once(
            resources.store, reader, slug, taken, per_hour=resources.settings.submissions_per_hour, key=None
        )
    except Problem as problem:
        if problem.type.slug == "unknown-drill":
            raise
        return _form_again(page, resources, slug, text, problem, "file" if upload else "source")
    background.add_task(resources.dispatcher.dispatch, submitted.grading_id)
    return see_other(f"/submissions/{submitted.submission_id}")


def _form_again(page: Page, resources: Resources, slug: str, source: str, problem: Problem, field: str) -> Response:
    with resources.store.reading() as session:
        drill = _drill(session, resources, slug)
    return page.render(
        "drill.html",
        status=problem.status,
        headers=problem.headers,
        drill=drill,
        source=source,
        origin=None,
        preview=None,
        per_hour=resources.settings.submissions_per_hour,
        error=_form_error(page, problem, field),
    )


def _form_error(page: Page, problem: Problem, field: str) -> FormError:
    if problem.type.slug in _SOURCE_PROBLEMS:
        return FormError(field, page.text(f"form.{problem.errors[0].code}", kib=SOURCE_BYTES // 1024))
    if problem.type.slug == "too-many-submissions":
        minutes = math.ceil(int(problem.headers["Retry-After"]) / _MINUTE_S)
        return FormError(None, page.text("form.too_many", minutes=minutes))
    return FormError(None, problem.detail)


def _drill(session: Session, resources: Resources, slug: str) -> DrillOut:
    version = drills.published(session, slug)
    if version is None:
        raise Problem("unknown-drill", f"There is no published drill {slug!r}.")
    package = drills.package_of(session, version)
    return DrillOut.in_full(version, drills.manifest_of(version), package, resources.settings.limits)
