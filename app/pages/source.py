"""A submission's source, line by line, with what was found next to the lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from graders.report import Annotation

_LINE_END = re.compile(r"\r\n|\r|\n")  # as Python counts lines; str.splitlines knows more of them


@dataclass
class SourceLine:
    """A line, counted from 1."""

    number: int
    text: str
    notes: list[Annotation] = field(default_factory=list)


def annotated_lines(source: str, annotations: Sequence[Annotation]) -> list[SourceLine]:
    """The lines of a source; what is said of a line beyond its end stands at the last one."""
    texts = _LINE_END.split(source)
    if texts[-1] == "" and len(texts) > 1:
        texts.pop()
    lines = [SourceLine(number, text) for number, text in enumerate(texts, 1)]
    for annotation in annotations:
        lines[min(annotation.line, len(lines)) - 1].notes.append(annotation)
    return lines
