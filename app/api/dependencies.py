"""What routes ask for, as annotated types."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Annotated, Any, cast

from fastapi import Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute
from sqlalchemy.orm import Session

from app.access.cookie import COOKIE
from app.access.principals import Principal
from app.access.service import identify
from app.errors import PROBLEMS, Problem
from app.resources import Resources

_READERS = 10
"""Requests that read at the same moment: fewer than the engine has connections.

FastAPI closes a session after it has made the answer's JSON, for which it needs a thread. If requests in that state
held all connections, the threads would wait for a connection and the requests for a thread.
"""


def get_resources(request: Request) -> Resources:
    return cast("Resources", request.app.state.resources)


AppResources = Annotated[Resources, Depends(get_resources)]


def find_caller(request: Request, resources: AppResources) -> Principal | None:
    """Who calls; None for a browser that is not signed in. Raises Problem(not-signed-in) for a bad token."""
    with resources.store.reading() as session:
        return identify(
            session,
            authorization=request.headers.get("authorization"),
            cookie=request.cookies.get(COOKIE),
            local=resources.settings.mode == "local",
        )


def require_caller(caller: Annotated[Principal | None, Depends(find_caller)]) -> Principal:
    """Who calls. Raises Problem(not-signed-in)."""
    if caller is None:
        raise Problem("not-signed-in", PROBLEMS["not-signed-in"].help, headers={"WWW-Authenticate": "Bearer"})
    return caller


class CallerFirst(APIRoute):
    """A route that asks who calls before it reads a body, of which nobody in particular is told anything.

    FastAPI reads and parses what a route's parameters need before it asks the first dependency.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def handle_known(request: Request) -> Response:
            await run_in_threadpool(lambda: require_caller(find_caller(request, get_resources(request))))
            return await handle(request)

        return handle_known


def open_reading(resources: AppResources) -> Iterator[Session]:
    with resources.store.reading() as session:
        yield session


MaybeCaller = Annotated[Principal | None, Depends(find_caller)]
Caller = Annotated[Principal, Depends(require_caller)]

# With the default scope, a stream would keep its session open. Routes that write open their transaction themselves.
Reading = Annotated[Session, Depends(open_reading, scope="function", max_concurrency=_READERS)]
