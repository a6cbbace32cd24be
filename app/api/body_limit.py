"""A limit on request bodies, by what the client announces and by what it really sends.

Starlette has such a limit too, but answers it in plain text, over whatever problem we would send.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import problem_response
from app.errors import problem_of_status

BODY_BYTES = 512 * 1024


class BodyLimit:
    """ASGI middleware: 413 for bodies over the limit, before they are read where that is possible.

    ``larger`` has the limits of the paths to which more may be sent.
    """

    def __init__(self, app: ASGIApp, larger: Mapping[str, int]) -> None:
        self._app = app
        self._larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit_bytes = self._larger.get(scope["path"], BODY_BYTES)
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > limit_bytes:
            await problem_response(problem_of_status(413))(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit_bytes:
                raise HTTPException(413)
            return message

        await self._app(scope, counted, send)
