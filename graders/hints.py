"""What to look at first: the hint for each cause, and for wrong values by the pattern that they form.

A hint says nothing beyond the key and the pattern that it stands for, so whoever may see those may see it.
Sentences: ``hint.<name>`` of the judge's catalogue; a diagnosis brings a hint of its drill's instead.
"""

from __future__ import annotations

from graders.report import Cause, Mismatch

RETURNED_INSTEAD = "hint.returned_instead"
"""For an output that was not written by a call that returned something: only the judge of a call knows."""

BY_CAUSE = {
    "case.not_written": "hint.write_all",
    "case.partly_written": "hint.write_all",
    "case.outside_write": "hint.write_inside",
    "case.input_changed": "hint.inputs_read_only",
    "case.signal": "hint.crash",
    "case.device_fault": "hint.crash",
    "case.time_limit": "hint.loops",
    "compile.time_limit": "hint.loops",
    "case.memory_limit": "hint.memory",
    "case.device_memory": "hint.memory",
    "case.device_memory_limit": "hint.memory",
    "case.output_limit": "hint.print",
    "policy.operation": "hint.allowed",
    "policy.own_operation": "hint.allowed",
    "policy.no_kernel": "hint.allowed",
    "compile.missing_entry": "hint.signature",
    "compile.not_callable": "hint.signature",
    "compile.signature": "hint.signature",
    "compile.kernel": "hint.compiler",
    "case.withheld.compile": "hint.compiler",
}
"""Causes that are not here say themselves what to do, or are the judge's own."""

BY_PATTERN = {
    "pattern.all_nan": "hint.nan",
    "pattern.nan_rows": "hint.nan",
    "pattern.nan_elements": "hint.nan",
    "pattern.infinite": "hint.nan",
    "pattern.nan_missing": "hint.nan_missing",
    "pattern.nan_tail_columns": "hint.masks",
    "pattern.tail_columns": "hint.masks",
    "pattern.first_columns": "hint.masks",
    "pattern.columns": "hint.masks",
    "pattern.rows": "hint.masks",
    "pattern.constant_factor_per_row": "hint.masks",
    "pattern.first_rows": "hint.strides",
    "pattern.last_rows": "hint.strides",
    "pattern.scattered": "hint.rounding",
    "pattern.all_zero": "hint.try_small",
    "pattern.every_element": "hint.try_small",
    "pattern.most_elements": "hint.try_small",
}
"""Of wrong values. A wrong row stride leaves the first row right."""


def hinted(cause: Cause | None, mismatch: Mismatch | None = None) -> Cause | None:
    """The cause with its hint, where there is one and it has none yet."""
    if cause is None or cause.hint_key is not None:
        return cause
    if cause.key == "case.wrong":
        hint = BY_PATTERN.get(mismatch.pattern or "") if mismatch is not None else None
    else:
        hint = BY_CAUSE.get(cause.key)
    return cause if hint is None else cause.model_copy(update={"hint_key": hint})
