"""Health as it is shown to operators and probes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.api.schemas import Answer, Time

Up = Literal["up", "down"]


class WorkerOut(Answer):
    id: str
    lane: str
    queue: str
    hostname: str
    sandbox: str = Field(description="The sandbox tier in use, or 'unsandboxed'.")
    healthy: bool
    note: str | None = Field(description="Why it is not healthy, or what it wants known.")
    started_at: Time
    heartbeat_at: Time


class HealthOut(Answer):
    version: str
    mode: Literal["local", "server"]
    database: Up
    broker: Up
    workers: list[WorkerOut]


class ReadyOut(Answer):
    ready: bool
    reasons: list[str]
