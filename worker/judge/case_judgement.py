"""From what a call left behind to a case's result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch

from graders.compare import compare
from graders.drill import Drill
from graders.hints import RETURNED_INSTEAD
from graders.memory import Call
from graders.report import Cause, Mismatch
from graders.tolerance import Policy
from graders.verdict import Verdict
from worker.judge.masks import first_index
from worker.judge.messages import Returned
from worker.judge.placement import Collected


@dataclass(frozen=True)
class Judgement:
    """What was found on one call. ``expected`` is float64, kept for the diagnosis."""

    verdict: Verdict
    cause: Cause | None
    mismatch: Mismatch | None
    expected: tuple[torch.Tensor, ...]


def judge_call(drill: Drill, call: Call, collected: Collected, returned: Returned, *, guards_inputs: bool) -> Judgement:
    """Check a call that came back. The oracle runs here, after the runner has delivered: there was nothing to steal."""
    expected = drill.oracle(*(operand.values for operand in call.inputs))
    outputs = zip(collected.outs, expected, collected.unwritten, strict=True)
    mismatch = next((found for output in outputs if (found := _mismatch(*output, drill.policy))), None)
    forbidden = sorted(set(returned.operations) - set(drill.manifest.operations.allowed))
    if forbidden:
        return Judgement(Verdict.POLICY_VIOLATION, of_operation(forbidden[0]), mismatch, expected)
    cause = _fact(collected, returned, mismatch) or (_changed(collected) if guards_inputs else None)
    if cause is not None:
        return Judgement(Verdict.WRONG_ANSWER, cause, mismatch, expected)
    if returned.launches == 0 and any(out.numel() for out in collected.outs):
        return Judgement(Verdict.POLICY_VIOLATION, Cause(key="policy.no_kernel"), None, expected)
    return Judgement(Verdict.ACCEPTED, None, None, expected)


_OF_UNWRITTEN = {
    "pattern.nan_rows": "pattern.rows",
    "pattern.nan_tail_columns": "pattern.tail_columns",
    "pattern.all_nan": None,
    "pattern.nan_elements": None,
}
"""The NaN that is found where nothing was written is the judge's own: of a pattern of it only the place is told."""


def _mismatch(got: torch.Tensor, expected: torch.Tensor, unwritten: torch.Tensor, policy: Policy) -> Mismatch | None:
    """How an output is wrong, as far as it was written."""
    found = compare(got, expected, policy)
    if found is None or not unwritten.any():
        return found
    if unwritten.all():
        return None
    pattern = _OF_UNWRITTEN.get(found.pattern or "", found.pattern)
    told = [element for element in (found.first, *found.more) if element and not unwritten[tuple(element.index)]]
    return found.model_copy(update={"pattern": pattern, "first": told[0] if told else None, "more": told[1:]})


def of_operation(name: str) -> Cause:
    """A name that torch does not know is a text that the submission chooses: it could carry the data."""
    if name.replace(".", "::", 1) in _torch_operations():
        return Cause(key="policy.operation", params={"operation": name})
    return Cause(key="policy.own_operation", params={"name": name})


@cache
def _torch_operations() -> frozenset[str]:
    return frozenset(schema.name for schema in torch._C._jit_get_all_schemas())


def _fact(collected: Collected, returned: Returned, mismatch: Mismatch | None) -> Cause | None:
    """The plainest fact first: a write outside, then nothing written, then wrong values."""
    if collected.outside is not None:
        outside = collected.outside
        return Cause(key="case.outside_write", params={"tensor": outside.tensor, "offset": outside.offset})
    missing = sum(int(mask.sum()) for mask in collected.unwritten)
    total = sum(mask.numel() for mask in collected.unwritten)
    if missing:
        first = next(list(first_index(mask)) for mask in collected.unwritten if mask.any())
        key = "case.not_written" if missing == total else "case.partly_written"
        hint = RETURNED_INSTEAD if returned.returned and missing == total else None
        return Cause(key=key, params={"count": missing, "total": total, "first": str(first)}, hint_key=hint)
    if mismatch is not None:
        return Cause(key="case.wrong", params={"count": mismatch.count, "total": mismatch.total})
    return None


def _changed(collected: Collected) -> Cause | None:
    if collected.changed is None:
        return None
    params = {"input": collected.changed.tensor, "index": str(list(collected.changed.index))}
    return Cause(key="case.input_changed", params={**params})
