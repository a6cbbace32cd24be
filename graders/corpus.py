"""A drill's example submissions, and what is expected of each.

Every file in ``submissions/<verdict>/`` begins with comments ``# key: value``::

    # expect: wrong_answer|runtime_error      the verdict, or alternatives
    # interpreter: not visible                the same for the interpreter lane, where it differs
    # fails: lengths, contract                the categories that lose points in the interpreter lane
    # misconception: padding_zero             a diagnosis that has to be named
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graders.verdict import Lane, Verdict

_LINE = re.compile(r"#\s*(expect|interpreter|fails|misconception)\s*:\s*(.+?)\s*$")
_NOT_VISIBLE = "not visible"


class CorpusError(ValueError):
    """A header that cannot be read; the message names the file and the line."""


@dataclass(frozen=True)
class Expectation:
    """What a header says. ``fails`` is None where it says nothing of categories."""

    verdicts: frozenset[Verdict]
    interpreter: frozenset[Verdict]
    fails: frozenset[str] | None = None
    misconception: str | None = None

    def verdicts_in(self, lane: Lane) -> frozenset[Verdict]:
        """The verdicts of which one has to be given."""
        return self.verdicts if lane is Lane.GPU else self.interpreter


@dataclass(frozen=True)
class Specimen:
    """A submission of the corpus."""

    path: Path
    expectation: Expectation

    @property
    def name(self) -> str:
        """For instance ``wrong_answer/padding_zero``."""
        return f"{self.path.parent.name}/{self.path.stem}"


def read_header(path: Path) -> Expectation:
    """The expectation in a file's leading comments. Raises CorpusError."""
    fields: dict[str, str] = {}
    for line in _comments(path):
        found = _LINE.match(line)
        if found is None:
            continue
        key, value = found.groups()
        if key in fields:
            raise CorpusError(f"{path.name}: '{key}' is said twice")
        fields[key] = value
    if "expect" not in fields:
        raise CorpusError(f"{path.name}: no line '# expect: <verdict>' at the top")
    verdicts = _verdicts(path, fields["expect"])
    interpreter = fields.get("interpreter", fields["expect"])
    return Expectation(
        verdicts=verdicts,
        interpreter=_verdicts(path, Verdict.ACCEPTED if interpreter == _NOT_VISIBLE else interpreter),
        fails=frozenset(_names(fields["fails"])) if "fails" in fields else None,
        misconception=fields.get("misconception"),
    )


def corpus(folder: Path) -> list[Specimen]:
    """The submissions under ``folder/<verdict>/``, by name.

    Raises CorpusError for a header that cannot be read, or that does not allow the verdict of its folder.
    """
    specimens = [Specimen(path, read_header(path)) for path in sorted(folder.glob("*/*.py"))]
    for specimen in specimens:
        if specimen.path.parent.name not in specimen.expectation.verdicts:
            raise CorpusError(f"{specimen.path.name}: lies in {specimen.path.parent.name}/, which it does not expect")
    return specimens


def _comments(path: Path) -> Iterator[str]:
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            return
        yield line


def _verdicts(path: Path, text: str) -> frozenset[Verdict]:
    try:
        return frozenset(Verdict(name.strip()) for name in text.split("|"))
    except ValueError as error:
        raise CorpusError(f"{path.name}: {error}; known are {', '.join(Verdict)}") from error


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
