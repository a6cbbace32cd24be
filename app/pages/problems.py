"""Problems for people: the same ones as over REST, as a page where a browser asks for a page."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import MEDIA_TYPE
from app.errors import PROBLEMS
from app.pages.addresses import form_place, see_other
from app.pages.language import locale_of
from app.pages.rendering import Page, SignInNeeded
from app.pages.texts import problem_texts

_NOTHING_THERE = {"forbidden", "method-not-allowed", "not-found", "unknown-drill", "unknown-version"}
_OF_THE_BODY = {"content-type", "content-length"}


def install(app: FastAPI) -> None:
    """Answer browsers with pages, whatever part of ``app`` found the problem."""
    app.add_middleware(ProblemPages)
    app.add_exception_handler(SignInNeeded, _sign_in)
    app.add_exception_handler(Exception, _as_page_too(app.exception_handlers[Exception]))


class ProblemPages:
    """ASGI middleware: turns problem documents into pages on their way to a browser."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and wants_page(scope):
            send = _PageSender(scope, receive, send)
        await self._app(scope, receive, send)


class _PageSender:
    """Holds a problem document back until it is whole, and sends the page in its place."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(Headers(raw=message["headers"])):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                headers = Headers(raw=self._start["headers"])
                page = problem_page(Request(self._scope), self._start["status"], headers, self._body)
                await page(self._scope, self._receive, self._send)


def wants_page(scope: Scope) -> bool:
    """Whether a request comes from somebody who reads pages."""
    return not scope["path"].startswith("/api/") and "text/html" in Headers(scope=scope).get("accept", "")


def problem_page(request: Request, status: int, headers: Mapping[str, str], body: bytes) -> HTMLResponse:
    """The page of a problem document."""
    problem: dict[str, Any] = json.loads(body)
    slug = problem["type"].rpartition("/")[2]
    page = Page(request, locale_of(request), getattr(request.state, "reader", None))
    detail = problem["detail"] if problem["detail"] != PROBLEMS[slug].help else None
    title, help_ = (problem_texts(page.locale)[f"{slug}.{part}"] for part in ("title", "help"))
    kept = {name: value for name, value in headers.items() if name.lower() not in _OF_THE_BODY}
    back = None if slug in _NOTHING_THERE else form_place(request)
    return page.render("problem.html", status=status, headers=kept, title=title, detail=detail, help=help_, back=back)


def _is_problem(headers: Headers) -> bool:
    return headers.get("content-type", "").startswith(MEDIA_TYPE)


def _sign_in(_request: Request, error: Exception) -> RedirectResponse:
    assert isinstance(error, SignInNeeded)  # noqa: S101 - for the type checker
    return see_other(f"/login?{urlencode({'next': error.next})}")


def _as_page_too(answer: Callable[..., Any]) -> Callable[..., Any]:
    """An error nobody expected is answered outside of every middleware, so its handler does their work."""

    async def answer_as_page(request: Request, error: Exception) -> Response:
        response = answer(request, error)
        if inspect.isawaitable(response):
            response = await response
        if not wants_page(request.scope):
            return response  # type: ignore[no-any-return]
        return problem_page(request, response.status_code, response.headers, response.body)

    return answer_as_page
