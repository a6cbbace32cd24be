"""Probes, at the root and open to all: they tell nothing of submissions or people."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response, status
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from app import VERSION
from app.api.dependencies import AppResources
from app.health.metrics import exposition
from app.health.schemas import HealthOut, ReadyOut, WorkerOut
from app.health.service import look

router = APIRouter(tags=["health"])


@router.get("/health")
def health(resources: AppResources) -> HealthOut:
    """What runs here and what it reaches. Always 200 while the process lives."""
    found = look(resources)
    return HealthOut(
        version=VERSION,
        mode=resources.settings.mode,
        database="up" if found.database else "down",
        broker="up" if found.broker else "down",
        workers=[WorkerOut.model_validate(worker) for worker in found.workers],
    )


@router.get("/ready", responses={status.HTTP_503_SERVICE_UNAVAILABLE: {"model": ReadyOut}})
def ready(resources: AppResources, response: Response) -> ReadyOut:
    """Whether the database and the broker answer: 503 with the reasons until they do."""
    reasons = look(resources).reasons
    if reasons:
        response.status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    return ReadyOut(ready=not reasons, reasons=reasons)


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(request: Request, resources: AppResources) -> Response:
    """Counts for Prometheus: what waits and runs, what was judged, the workers, the requests of this process."""
    text = exposition(request.app.state.process_registry, resources)
    return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)
