"""A known mistake: models of what it would compute."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import torch

from graders.memory import Call

LONGEST_LINE = 500
"""Characters: a pattern is not tried on longer lines, which can be made to take it very long."""

Model = Callable[[Call], tuple[torch.Tensor, ...]]
"""The outputs that a mistake leaves for a call: float64, one an output, NaN where nothing would be written."""


@dataclass(frozen=True)
class Misconception:
    """A mistake that students make, and the outputs one gets from it.

    ``models`` are its variants (of another block size, say): one and the same has to explain every case.
    ``applies`` says on which calls the mistake can make a difference. ``source`` finds, in a submission whose
    output a model equals, the lines to point at; it never accuses by itself.
    Sentences: ``misconception.<key>.title``, ``.evidence`` and ``.hint`` in the drill's catalogue.
    """

    key: str
    applies: Callable[[Call], bool]
    models: tuple[Model, ...]
    source: re.Pattern[str] | None = None

    @property
    def title_key(self) -> str:
        return f"misconception.{self.key}.title"

    @property
    def evidence_key(self) -> str:
        return f"misconception.{self.key}.evidence"

    @property
    def hint_key(self) -> str:
        return f"misconception.{self.key}.hint"

    def lines(self, source: str) -> list[int]:
        """Lines (from 1) of the submission that the pattern finds."""
        if self.source is None:
            return []
        lines = [(number, line) for number, line in enumerate(source.splitlines(), 1) if len(line) <= LONGEST_LINE]
        return [number for number, line in lines if self.source.search(line)]
