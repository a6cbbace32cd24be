"""Where pages send their readers."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse

HOME = "/"


def here(request: Request) -> str:
    """The page of a request, as a link back to it; for a form's address, the page that shows the form."""
    path = quote(request.url.path, safe="/:@%")
    if request.method not in ("GET", "HEAD"):
        return path.rpartition("/")[0] or HOME
    return f"{path}?{request.url.query}" if request.url.query else path


def form_place(request: Request) -> str | None:
    """Where the form of a request stands: pages name it as its address ends. None: the request is no form's."""
    page, _, name = quote(request.url.path, safe="/:@%").rpartition("/")
    return None if request.method in ("GET", "HEAD") or not page else f"{page}#{name}"


def local_path(path: str) -> str:
    """``path`` if it is one on this server, else the start page: nobody is sent elsewhere by a link to us."""
    plain = path.isascii() and path.isprintable() and "\\" not in path
    if not plain or not path.startswith("/") or path.startswith("//"):
        return HOME
    parts = urlsplit(path)
    return HOME if parts.scheme or parts.netloc else path


def see_other(path: str) -> RedirectResponse:
    """The answer to a form: go there by GET, so that reloading sends nothing again."""
    return RedirectResponse(path, status_code=303)
