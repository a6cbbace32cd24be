"""What a judge is given to do, and what it answers."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from graders.limits import Limits
from graders.validation import Finding
from graders.verdict import Lane

UNSANDBOXED = "unsandboxed"
"""What a report says in place of a tier when nothing stood between submission and machine."""


class Job(BaseModel):
    """One submission to grade. ``seed`` is secret: it draws the inputs, and staff can replay it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    slug: str
    version: int
    digest: str
    attempt: int
    source: str
    seed: str
    lane: Lane
    limits: Limits
    sandbox: str
    worker: str | None = None
    measure: bool = True
    queued_at: datetime | None = None
    claimed_at: datetime | None = None


class SelfTest(BaseModel):
    """A drill version to load, draw and try without any submission, within a time and an amount of memory."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    slug: str
    digest: str
    limit_s: float
    memory_mib: int


class SelfTested(BaseModel):
    """What was found. ``memory_mib`` is what the tensors of each test hold, by category/name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    findings: list[Finding]
    memory_mib: dict[str, float] = {}
