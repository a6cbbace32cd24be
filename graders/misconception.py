"""A known mistake: a model of what it would compute."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from graders.memory import Call


@dataclass(frozen=True)
class Misconception:
    """``model`` gives, for a call, the outputs (float64, the output's shape) that the mistake could produce.

    ``applies`` says on which calls the mistake makes a difference. ``source`` finds, in a submission whose
    output the model equals, the line to point at; it never accuses by itself.
    Sentences: ``misconception.<key>.title``, ``.evidence`` and ``.hint`` in the drill's catalogue.
    """

    key: str
    applies: Callable[[Call], bool]
    model: Callable[[Call], Sequence[torch.Tensor]]
    source: re.Pattern[str] | None = None

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
        return [number for number, line in enumerate(source.splitlines(), 1) if self.source.search(line)]
