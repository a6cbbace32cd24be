"""Who sees what of a report: one filter for REST, events, pages and exports.

Public cases show everything. Hinted ones show category, error pattern and hint, not the data.
Hidden ones show category and pass or fail. Staff see all.
"""

from __future__ import annotations

from graders.report import CaseResult, Cause, Report
from graders.verdict import CaseStatus, Visibility

SHOWN_PARAMS = frozenset(
    {"exception", "line", "limit", "limit_s", "limit_mib", "limit_kib", "signal", "count", "total", "input", "tensor"}
    | {"operation", "dtype", "needed_gb"}
)
"""What a cause may say of a hinted case. Texts, indices and codes could carry data: the submission chooses them."""

RETOLD = frozenset(
    {"not_written", "partly_written", "outside_write", "input_changed", "exception", "exited"}
    | {"device_fault", "device_memory"}
)
"""Sentences ``case.<name>`` with parameters beyond those, which ``case.hinted.<name>`` replaces."""


def visible_case(case: CaseResult, *, staff: bool) -> CaseResult:
    """The case as the reader may see it."""
    if staff or case.visibility is Visibility.PUBLIC:
        return case
    if case.visibility is Visibility.HINTED:
        return case.model_copy(
            update={"stdout": None, "cause": _without_data(case.cause), "mismatch": _pattern_only(case)}
        )
    return case.model_copy(
        update={
            "name": f"{case.category}_{case.ordinal}",
            "duration_ms": None,
            "stdout": None,
            "cause": _hidden_cause(case),
            "mismatch": None,
            "misconception": None,
        }
    )


def visible_report(report: Report, *, staff: bool) -> Report:
    """The report as the reader may see it."""
    if staff:
        return report
    shown = [visible_case(case, staff=False) for case in report.cases]
    told = {case.ordinal for case in shown if case.visibility is not Visibility.HIDDEN}
    diagnoses = [
        diagnosis.model_copy(update={"cases": [ordinal for ordinal in diagnosis.cases if ordinal in told]})
        for diagnosis in report.diagnoses
        if told & set(diagnosis.cases)
    ]
    named = {diagnosis.misconception for diagnosis in diagnoses}
    annotations = [
        annotation
        for annotation in report.annotations
        if annotation.key != "annotation.misconception" or annotation.params.get("misconception") in named
    ]
    return report.model_copy(update={"cases": shown, "diagnoses": diagnoses, "annotations": annotations})


def hidden_passed(report: Report) -> tuple[int, int]:
    """How many of the judged hidden cases passed, and how many were judged."""
    judged = [
        case for case in report.cases if case.visibility is Visibility.HIDDEN and case.status is not CaseStatus.SKIPPED
    ]
    return sum(case.status is CaseStatus.PASSED for case in judged), len(judged)


def _without_data(cause: Cause | None) -> Cause | None:
    """An exception's text could carry the data: its type and the student's line remain."""
    if cause is None:
        return None
    table, _, name = cause.key.partition(".")
    key = f"case.hinted.{name}" if table == "case" and name in RETOLD else cause.key
    params = {name: value for name, value in cause.params.items() if name in SHOWN_PARAMS}
    return cause.model_copy(update={"key": key, "params": params})


def _pattern_only(case: CaseResult) -> object:
    if case.mismatch is None:
        return None
    return case.mismatch.model_copy(update={"first": None, "max_abs": None, "max_ulp": None})


def _hidden_cause(case: CaseResult) -> Cause | None:
    if case.status is CaseStatus.SKIPPED or case.cause is None:
        return case.cause
    if case.status is CaseStatus.PASSED:
        return None
    if case.cause.key == "case.not_run":
        return case.cause
    return Cause(key=f"case.hidden.{case.verdict}")
