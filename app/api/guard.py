"""Which requests are let in at all: against DNS rebinding and cross-site requests (CSRF).

A page on another site can make a browser send us requests, with our cookie. What it cannot do is set
an Authorization header, or hide where it comes from: browsers say so in Sec-Fetch-Site, older ones and
plain-http pages in Origin. Local mode signs everybody in, so there a change without a token must show
that it comes from our own pages, and the Host header must name this machine. Server mode answers to the
hosts that its operator names, and to loopback, from where it is probed.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app.access.cookie import COOKIE
from app.api.problems import problem_response
from app.errors import PROBLEMS, Problem
from app.settings import Settings, is_loopback

_UTF8 = {b"utf-8", b"utf8"}
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS", "TRACE"}


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._local = settings.mode == "local"
        self._hosts = frozenset(host.lower() for host in settings.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            refusal = _unusable(scope, headers) or self._refusal(scope["method"], headers)
            if refusal is not None:
                await problem_response(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> Problem | None:
        if not self._answers_to(_host_name(headers.get("host", ""))):
            return Problem("wrong-host", PROBLEMS["wrong-host"].help)
        if method in _SAFE_METHODS or headers.get("authorization", "").lower().startswith("bearer "):
            return None
        ours = _from_our_pages(headers)
        if ours or (ours is None and not self._local and f"{COOKIE}=" not in headers.get("cookie", "")):
            return None
        return Problem("cross-origin", PROBLEMS["cross-origin"].help)

    def _answers_to(self, host: str) -> bool:
        return is_loopback(host) or (not self._local and (not self._hosts or host in self._hosts))


def _unusable(scope: Scope, headers: Headers) -> Problem | None:
    """A NUL character names nothing: SQLite would look it up in vain, PostgreSQL would not even look.

    A form's encoding is named by its sender, and Starlette would decode with whatever codec has that name: some take a
    time that grows with the square of the length.
    """
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        return Problem("bad-request", "An address has no NUL character.")
    kind, options = parse_options_header(headers.get("content-type"))
    if kind == b"multipart/form-data" and options.get(b"charset", b"utf-8").lower() not in _UTF8:
        return Problem("unsupported-media-type", "A form's text is UTF-8.")
    return None


def _from_our_pages(headers: Headers) -> bool | None:
    """None: the request does not say where it comes from, so it was not a browser that sent it."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    if origin is None:
        return None
    return urlsplit(origin).netloc.lower() == headers.get("host", "").lower() != ""


def _host_name(host: str) -> str:
    """A Host header without its port; empty when it is malformed."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
