"""What an operator watches, in Prometheus' text format. Counts alone: nothing of people, drills or code.

What is queued and judged is read from the database when it is asked for, so that any number of web processes say the
same and a restart forgets nothing. Requests are counted by the process that serves them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.router import router as api
from app.resources import Resources
from app.store.columns import utc_now
from app.store.models import Grading, Validation
from app.workers.service import live_workers
from graders.verdict import State, Verdict

_ACTIVE = tuple(state.value for state in State if not state.final)
_ENDED = tuple(state.value for state in State if state.final)
_NO_ROUTE = "none"
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_OTHER_METHOD = "other"
_SERVER_ERROR = 500


class Judging(Collector):
    """What waits, what runs, what was judged, and who judges."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def collect(self) -> Iterator[Metric]:
        with self._resources.store.reading() as session:
            yield _active(session)
            yield _waiting_s(session)
            yield _judged(session)
            yield _validations(session)
            yield self._workers(session)

    def _workers(self, session: Session) -> Metric:
        found = GaugeMetricFamily("warpgrade_workers", "Live workers.", labels=["queue", "healthy"])
        counts: dict[tuple[str, str], int] = {}
        for worker in live_workers(session, self._resources.settings.worker_gone_s):
            key = (worker.queue, "yes" if worker.healthy else "no")
            counts[key] = counts.get(key, 0) + 1
        for labels, count in counts.items():
            found.add_metric(labels, count)
        return found


class Requests:
    """ASGI middleware: counts requests and their seconds by route. Streams end when their client goes."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self._app = app
        labels = ["method", "route"]
        self._count = Counter("warpgrade_requests", "Requests answered.", [*labels, "status"], registry=registry)
        self._seconds = Histogram("warpgrade_request_seconds", "Until the answer began.", labels, registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        method = scope["method"] if scope["method"] in _METHODS else _OTHER_METHOD  # anybody may invent some

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._seconds.labels(method, _route(scope)).observe(time.perf_counter() - began)
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._count.labels(method, _route(scope), str(status or _SERVER_ERROR)).inc()


def process_registry() -> CollectorRegistry:
    """A registry with what the process itself uses: memory, descriptors, seconds of CPU."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


def exposition(process: CollectorRegistry, resources: Resources) -> bytes:
    """Everything, in Prometheus' text format."""
    judging = CollectorRegistry()
    judging.register(Judging(resources))
    return generate_latest(process) + generate_latest(judging)


def _route(scope: Scope) -> str:
    """The route's template, not the path: its ids would be labels without end.

    A route knows its template as its router has it, which is included under a prefix.
    """
    template: str | None = getattr(scope.get("route"), "path", None)
    if template is None:
        return _NO_ROUTE
    return f"{api.prefix}{template}" if scope["path"].startswith(f"{api.prefix}/") else template


def _active(session: Session) -> Metric:
    found = GaugeMetricFamily("warpgrade_gradings_active", "Gradings that wait or run.", labels=["state"])
    query = select(Grading.state, func.count()).where(Grading.state.in_(_ACTIVE)).group_by(Grading.state)
    counts = dict(session.execute(query).all())
    for state in _ACTIVE:
        found.add_metric([state], counts.get(state, 0))
    return found


def _waiting_s(session: Session) -> Metric:
    oldest = session.scalars(select(func.min(Grading.queued_at)).where(Grading.state == State.QUEUED.value)).one()
    waited_s = max(0.0, (utc_now() - oldest).total_seconds()) if oldest else 0.0
    return GaugeMetricFamily("warpgrade_queue_oldest_seconds", "How long the first in the queue waits.", waited_s)


def _judged(session: Session) -> Metric:
    found = CounterMetricFamily("warpgrade_gradings", "Gradings that have ended, by verdict.", labels=["verdict"])
    query = select(Grading.verdict, func.count()).where(Grading.state == State.DONE.value).group_by(Grading.verdict)
    counts = dict(session.execute(query).all())
    for verdict in Verdict:
        found.add_metric([verdict.value], counts.get(verdict.value, 0))
    return found


def _validations(session: Session) -> Metric:
    active = select(func.count()).select_from(Validation).where(Validation.state.not_in(_ENDED))
    count = session.scalars(active).one()
    return GaugeMetricFamily("warpgrade_validations_active", "Validations of drills that wait or run.", count)
