"""What a judge is given for one grading."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from graders.limits import Limits
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
