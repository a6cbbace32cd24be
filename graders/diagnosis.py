"""Which known mistakes explain the wrong outputs.

A misconception is named if one of its models equals the output on every failing case to which it
applies, there is at least one such case, and it predicts a pass on every case that passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from graders.compare import compare
from graders.memory import Call
from graders.misconception import Misconception, Model
from graders.report import Diagnosis, Message
from graders.tolerance import Policy, Terms

_DOUBT = 1.05
"""A model so near to the tolerance may pass where the kernel fails, or the other way round: it says nothing of that."""


@dataclass(frozen=True)
class _AsModelled(Policy):
    """How near to a model an output equals it: the model knows neither the order of summation nor exp's last bit.

    Two units in the last place besides, since in 16 bits such a difference decides which way a number is rounded.
    """

    relative: float = 1e-3

    def terms(self, dtype: torch.dtype) -> Terms:
        return Terms(self.relative, 2.0, torch.finfo(dtype).tiny if dtype.itemsize >= 4 else 0.0)


@dataclass(frozen=True)
class Evidence:
    """A case that was run, with its output as it was found and the oracle's (float64), one tensor an output."""

    ordinal: int
    passed: bool
    call: Call
    got: tuple[torch.Tensor, ...]
    expected: tuple[torch.Tensor, ...]

    @property
    def numel(self) -> int:
        return sum(output.numel() for output in self.expected)


def diagnose(
    misconceptions: Sequence[Misconception], evidence: Sequence[Evidence], source: str, policy: Policy
) -> list[Diagnosis]:
    """The misconceptions that explain ``evidence``, in their order, with the lines of ``source`` to look at.

    The calls need their ``storages``. Nothing is found, at almost no cost, when every case passed.
    """
    ordered = sorted(evidence, key=lambda item: (item.passed, item.numel))  # what refutes most, soonest
    found = []
    for misconception in misconceptions:
        relevant = [item for item in ordered if misconception.applies(item.call)]
        explained = sorted(item.ordinal for item in relevant if not item.passed)
        if explained and any(_explains(model, relevant, policy) for model in misconception.models):
            found.append(_named(misconception, explained, source))
    return found


def _named(misconception: Misconception, explained: list[int], source: str) -> Diagnosis:
    return Diagnosis(
        misconception=misconception.key,
        evidence=Message(key=misconception.evidence_key, params={"count": len(explained)}),
        hint_key=misconception.hint_key,
        cases=explained,
        lines=misconception.lines(source),
    )


def _explains(model: Model, evidence: Sequence[Evidence], policy: Policy) -> bool:
    return all(_predicts(model, item, policy) for item in evidence)


def _predicts(model: Model, item: Evidence, policy: Policy) -> bool:
    outputs = model(item.call)
    passes = _would_pass(outputs, item, policy)
    if item.passed and passes:
        return True
    if passes != item.passed:
        in_doubt = policy.times(_DOUBT if item.passed else 1 / _DOUBT)
        if _would_pass(outputs, item, in_doubt) == passes:
            return False
    return all(_equal(got, output) for got, output in zip(item.got, outputs, strict=True))


def _would_pass(outputs: tuple[torch.Tensor, ...], item: Evidence, policy: Policy) -> bool:
    return all(
        compare(output.to(got.dtype), expected, policy) is None
        for output, got, expected in zip(outputs, item.got, item.expected, strict=True)
    )


def _equal(got: torch.Tensor, model: torch.Tensor) -> bool:
    """Whether an output is the model's, in its pattern of NaN and infinities too."""
    return compare(got, model, _AsModelled()) is None
