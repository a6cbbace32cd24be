"""Probes, at the root and open to all: they tell nothing of submissions or people."""

from __future__ import annotations

from fastapi import APIRouter, Response, status

from app import VERSION
from app.api.dependencies import AppResources
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
