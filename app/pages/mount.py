"""Putting the pages on the application."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

from app.pages import problems
from app.pages.drills import router as drills
from app.pages.environment import STATIC
from app.pages.instructor import router as instructor
from app.pages.language import router as language
from app.pages.login import router as login
from app.pages.submissions import router as submissions


def mount_pages(app: FastAPI) -> None:
    """Add the pages, their static files and their form of every problem. Call it last: it wraps what is there."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
    for part in (drills, submissions, instructor, login, language):
        router.include_router(part)
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    problems.install(app)
