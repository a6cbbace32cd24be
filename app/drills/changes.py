"""What changed between two versions of a drill."""

from __future__ import annotations

from pydantic import Field

from app.api.schemas import Answer
from app.line_diff import line_diff
from graders.package import Package

_TEXTS = (".toml", ".md")


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
        description="Of the changed files, drill.toml, statements and sentences up to 2,000 lines, line by line."
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
        texts=_texts(changed, old, new),
    )


def _texts(changed: list[str], old: Package, new: Package) -> list[TextChange]:
    found = []
    for file in changed:
        if file.endswith(_TEXTS):
            before, after = (package.files[file].decode("utf-8") for package in (old, new))
            diff = line_diff(before, after, f"a/{file}", f"b/{file}")
            if diff is not None:
                found.append(TextChange(file=file, diff=diff))
    return found
