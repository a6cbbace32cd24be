"""What the commands that need no server share: how they judge, and the language they speak."""

from __future__ import annotations

import os
from dataclasses import dataclass

from app.settings import Misconfigured, read_settings
from graders.limits import Limits
from worker.sandbox.walls import SandboxUnavailable
from worker.supervisor.lane import Post, choose_post
from worker.supervisor.supervisor import JudgeFailed

CANNOT_JUDGE = (Misconfigured, SandboxUnavailable, JudgeFailed)
"""What is raised where this machine cannot judge as it is set up; the message says why."""


@dataclass(frozen=True)
class Judging:
    """Where it is judged, and the most that a drill may ask for."""

    post: Post
    maximum: Limits


def set_up() -> Judging:
    """As a worker with this environment would judge. Raises Misconfigured, SandboxUnavailable."""
    settings = read_settings()
    return Judging(choose_post(settings.lane, settings.sandbox), settings.limits)


def reader_locale() -> str:
    """The reader's, of those that there are sentences in."""
    return "zh" if os.environ.get("LANG", "").startswith("zh") else "en"
