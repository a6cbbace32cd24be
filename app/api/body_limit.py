"""A limit on request bodies, by what the client announces and by what it really sends.

Starlette has such a limit too, but answers it in plain text, over whatever problem we would send.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import problem_response
from app.errors import problem_of_status

BODY_BYTES = 512 * 1024


class BodyLimit:
    """ASGI middleware: 413 for bodies over ``limit_bytes``, before they are read where that is possible."""

    def __init__(self, app: ASGIApp, limit_bytes: int = BODY_BYTES) -> None:
        self._app = app
        self._limit_bytes = limit_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > self._limit_bytes:
            await problem_response(problem_of_status(413))(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit_bytes:
                raise HTTPException(413)
            return message

        await self._app(scope, counted, send)
