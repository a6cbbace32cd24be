"""The web application. ``create_app(settings)`` makes it; ``app.setup.prepare`` has made the database before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from app import VERSION
from app.api import problems
from app.api.body_limit import BodyLimit
from app.api.guard import Guard
from app.api.openapi import DocumentedApp
from app.api.router import router as api
from app.drills.intake import UPLOAD_BODY_BYTES, UPLOAD_PATHS
from app.health.metrics import Requests, process_registry
from app.health.routes import router as health
from app.pages.mount import mount_pages
from app.resources import open_resources
from app.settings import Settings


def create_app(settings: Settings) -> FastAPI:
    """An application of its own state: its resources are made when it starts and closed when it stops."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_resources(settings) as resources:
            app.state.resources = resources
            yield

    app = DocumentedApp(
        title="Warpgrade",
        version=VERSION,
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # FastAPI's pages load their scripts from elsewhere
        redoc_url=None,
    )
    app.state.process_registry = process_registry()
    app.add_middleware(BodyLimit, larger=dict.fromkeys(UPLOAD_PATHS, UPLOAD_BODY_BYTES))
    app.add_middleware(Guard, settings=settings)
    app.add_middleware(Requests, registry=app.state.process_registry)  # added last, so asked first
    problems.install_handlers(app)
    for router in (problems.router, health, api):
        app.include_router(router)
    mount_pages(app)
    return app
