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

_LINE = re.compile(r"#\s*(expect|interpreter|fails|misconception)\s*:(.*)")
_NOT_VISIBLE = "not visible"


class CorpusError(ValueError):
    """A header that cannot be read; the message names the file and what is wrong, ``line`` the line where it stands."""

    def __init__(self, file: str, reason: str, line: int | None = None) -> None:
        super().__init__(f"{file}: {reason}")
        self.reason = reason
        self.line = line


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


@dataclass(frozen=True)
class Example:
    """A submission of the corpus as it lies in a package: ``file`` is its path there."""

    name: str
    file: str
    source: str
    expectation: Expectation


def read_header(path: Path) -> Expectation:
    """The expectation in a file's leading comments. Raises CorpusError."""
    return parse_header(path.name, path.read_text("utf-8"))


def parse_header(file: str, text: str) -> Expectation:
    """The expectation in the leading comments of ``text``. Raises CorpusError, which names ``file``."""
    fields: dict[str, tuple[int, str]] = {}
    for number, line in _comments(text):
        found = _LINE.match(line)
        if found is None or not found[2].strip():
            continue
        key, value = found[1], found[2].strip()
        if key in fields:
            raise CorpusError(file, f"'{key}' is said twice", number)
        fields[key] = (number, value)
    if "expect" not in fields:
        raise CorpusError(file, "no line '# expect: <verdict>' at the top", 1)
    verdicts = _verdicts(file, *fields["expect"])
    number, interpreter = fields.get("interpreter", fields["expect"])
    return Expectation(
        verdicts=verdicts,
        interpreter=_verdicts(file, number, Verdict.ACCEPTED if interpreter == _NOT_VISIBLE else interpreter),
        fails=frozenset(_names(fields["fails"][1])) if "fails" in fields else None,
        misconception=fields["misconception"][1] if "misconception" in fields else None,
    )


def corpus(folder: Path) -> list[Specimen]:
    """The submissions under ``folder/<verdict>/``, by name.

    Raises CorpusError for a header that cannot be read, or that does not allow the verdict of its folder.
    """
    specimens = [Specimen(path, read_header(path)) for path in sorted(folder.glob("*/*.py"))]
    for specimen in specimens:
        require_folder(specimen.path.name, specimen.path.parent.name, specimen.expectation)
    return specimens


def require_folder(file: str, folder: str, expectation: Expectation) -> None:
    """Raises CorpusError when a submission does not allow the verdict of the folder that it lies in."""
    if folder not in expectation.verdicts:
        raise CorpusError(file, f"lies in {folder}/, which it does not expect", 1)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("#"):
            return
        yield number, line


def _verdicts(file: str, line: int, text: str) -> frozenset[Verdict]:
    try:
        return frozenset(Verdict(name.strip()) for name in text.split("|"))
    except ValueError as error:
        raise CorpusError(file, f"{error}; known are {', '.join(Verdict)}", line) from error


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
