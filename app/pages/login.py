"""Signing in with a token, and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from app.access import service as access
from app.access.cookie import COOKIE, clear_session_cookie, set_session_cookie
from app.api.dependencies import AppResources
from app.errors import Problem
from app.pages.addresses import HOME, local_path, see_other
from app.pages.rendering import AnyPage

router = APIRouter()


@router.get("/login")
def show_login(page: AnyPage, next: str = HOME) -> Response:
    """The form that takes a token."""
    return page.render("login.html", next=local_path(next), error=None)


@router.post("/login")
def sign_in(
    request: Request,
    page: AnyPage,
    resources: AppResources,
    token: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = HOME,
) -> Response:
    """Exchange a token for a session of this browser."""
    days = resources.settings.session_days
    try:
        with resources.store.transaction() as session:
            value = access.sign_in(session, token.strip(), days=days)
    except Problem as problem:
        error = page.text("login.unknown")
        return page.render(
            "login.html", status=problem.status, headers=problem.headers, next=local_path(next), error=error
        )
    response = see_other(local_path(next))
    set_session_cookie(request, response, value, days=days)
    return response


@router.post("/logout")
def sign_out(request: Request, resources: AppResources) -> Response:
    """End this browser's session."""
    with resources.store.transaction() as session:
        access.sign_out(session, request.cookies.get(COOKIE, ""))
    response = see_other(HOME)
    clear_session_cookie(response)
    return response
