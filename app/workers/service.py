"""The register of live workers. The caller commits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.store.columns import as_json, utc_now
from app.store.models import Worker
from app.store.updates import compare_and_set
from graders.report import Environment
from graders.verdict import Lane


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker says of itself. ``sandbox`` is the tier in use, or 'unsandboxed'."""

    id: str
    queue: str
    lane: Lane
    hostname: str
    pid: int
    sandbox: str
    environment: Environment


def register(session: Session, info: WorkerInfo) -> None:
    """Enter a worker, healthy, with its first heartbeat; entering it again renews all."""
    now = utc_now()
    session.merge(
        Worker(
            id=info.id,
            queue=info.queue,
            lane=info.lane.value,
            hostname=info.hostname,
            pid=info.pid,
            sandbox=info.sandbox,
            environment=as_json(info.environment),
            healthy=True,
            note=None,
            started_at=now,
            heartbeat_at=now,
        )
    )
    session.flush()


def heartbeat(session: Session, worker_id: str, healthy: bool, note: str | None = None) -> bool:
    """Say that the worker lives; an unhealthy one gets no work. False: it is not in the register (any more)."""
    values = {"heartbeat_at": utc_now(), "healthy": healthy, "note": note}
    return compare_and_set(session, Worker, Worker.id == worker_id, **values)


def unregister(session: Session, worker_id: str) -> None:
    """Strike a worker that stops; striking it twice is no error."""
    session.execute(delete(Worker).where(Worker.id == worker_id))


def live_workers(session: Session, within_s: float) -> list[Worker]:
    """Workers whose last heartbeat is at most ``within_s`` seconds old, healthy or not, GPU lanes first."""
    since = utc_now() - timedelta(seconds=within_s)
    workers = session.scalars(select(Worker).where(Worker.heartbeat_at >= since).order_by(Worker.started_at, Worker.id))
    return sorted(workers, key=lambda worker: worker.lane != Lane.GPU.value)
