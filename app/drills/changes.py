"""What changed between two versions of a drill."""

from __future__ import annotations

import difflib

from pydantic import Field

from app.api.schemas import Answer
from graders.package import Package

_TEXTS = (".toml", ".md")
_COMPARED_BYTES = 64 * 1024
"""Longer texts are only said to have changed: comparing lines takes time that grows with their square."""


class TextChange(Answer):
    """A text that stands in both versions."""

    file: str
    diff: str = Field(description="Unified diff.")


class VersionChanges(Answer):
    """From version ``old`` to version ``new``; files are named as in the package."""

    old: int
    new: int
    added: list[str]
    removed: list[str]
    changed: list[str]
    texts: list[TextChange] = Field(
        description="Of the changed files, drill.toml, statements and sentences up to 64 KiB, line by line."
    )


def changes(old_number: int, old: Package, new_number: int, new: Package) -> VersionChanges:
    both = old.files.keys() & new.files.keys()
    changed = sorted(file for file in both if old.files[file] != new.files[file])
    return VersionChanges(
        old=old_number,
        new=new_number,
        added=sorted(new.files.keys() - both),
        removed=sorted(old.files.keys() - both),
        changed=changed,
        texts=[
            TextChange(file=file, diff=_diff(file, old.files[file], new.files[file]))
            for file in changed
            if file.endswith(_TEXTS) and max(len(old.files[file]), len(new.files[file])) <= _COMPARED_BYTES
        ],
    )


def _diff(file: str, old: bytes, new: bytes) -> str:
    before, after = (content.decode("utf-8").splitlines() for content in (old, new))
    return "\n".join(difflib.unified_diff(before, after, f"a/{file}", f"b/{file}", lineterm=""))
