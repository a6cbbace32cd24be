"""The cookie that keeps a browser signed in."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

COOKIE = "warpgrade_session"


def set_session_cookie(request: Request, response: Response, value: str, *, days: int) -> None:
    """Sign the browser in. ``value`` is what ``access.service.sign_in`` returned."""
    response.set_cookie(
        COOKIE,
        value,
        max_age=days * 24 * 3600,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


def clear_session_cookie(response: Response) -> None:
    """Sign the browser out. ``access.service.sign_out`` ends the session itself."""
    response.delete_cookie(COOKIE, httponly=True, samesite="lax")
