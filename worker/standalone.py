"""What the commands that need no server share: how they judge, which drill, and the language they speak."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from app.settings import Misconfigured, read_settings
from graders.limits import Limits
from graders.package import Package, built_in_drills
from graders.unpack import read_folder, read_zip
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


def package_of(name: str) -> Package:
    """The drill of a built-in drill's slug, of a folder or of a zip. Raises PackageRefused, or ValueError for none."""
    path = Path(name)
    if name in built_in_drills():
        return Package.from_tree(name)
    if path.is_dir():
        return read_folder(path)
    if path.is_file():
        return read_zip(path.read_bytes())
    raise ValueError(f"{name!r} is no file, no folder and none of the drills {', '.join(built_in_drills())}")


def reader_locale() -> str:
    """The reader's, of those that there are sentences in."""
    return "zh" if os.environ.get("LANG", "").startswith("zh") else "en"
