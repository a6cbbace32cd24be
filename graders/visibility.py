"""Who sees what of a report: one filter for REST, events, pages and exports.

Public cases show everything. Hinted ones show category, error pattern and hint, not the data.
Hidden ones show category and pass or fail. Staff see all.
"""

from __future__ import annotations

import builtins

from graders.hints import BY_CAUSE
from graders.report import Annotation, CaseResult, Cause, Mismatch, Param, Report
from graders.verdict import CaseStatus, Visibility

SHOWN_PARAMS = frozenset(
    {"exception", "line", "limit", "limit_s", "limit_mib", "limit_kib", "signal", "count", "total", "input", "tensor"}
    | {"operation", "dtype", "needed_gb", "shape"}
)
"""What a cause may say of a hinted case. Texts, indices and codes could carry data: the submission chooses them."""

KNOWN_EXCEPTIONS = frozenset(
    {name for name, thing in vars(builtins).items() if isinstance(thing, type) and issubclass(thing, BaseException)}
    | {"OutOfMemoryError", "AcceleratorError", "LinAlgError", "BackendCompilerFailed", "Unsupported"}
    | {"CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "InterpreterError"}
    | {"OutOfResources", "PTXASError", "AutotunerError", "MLIRCompilationError"}
)
"""Exceptions of Python, torch and Triton. The name of any other is a text that the submission chooses."""

RETOLD = frozenset(
    {"not_written", "partly_written", "outside_write", "input_changed", "exception", "exited"}
    | {"device_fault", "device_memory"}
)
"""Sentences ``case.<name>`` with parameters beyond those, which ``case.hinted.<name>`` replaces."""

NOT_COMPILED = frozenset({"syntax", "missing_entry", "not_callable", "signature", "kernel", "shared_memory"})
"""Sentences ``compile.<name>`` that tell what the submission says, which ``case.withheld.compile`` replaces."""


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
    annotations: list[Annotation] = []
    for annotation in report.annotations:
        if annotation.key != "annotation.misconception" or annotation.params.get("misconception") in named:
            marker = _visible_annotation(annotation)
            annotations += [marker] if marker not in annotations else []
    cause = _without_data(report.cause) if report.withheld else _anonymous(report.cause)
    return report.model_copy(
        update={"cases": shown, "diagnoses": diagnoses, "annotations": annotations, "cause": cause}
    )


def hidden_passed(report: Report) -> tuple[int, int]:
    """How many of the judged hidden cases passed, and how many were judged."""
    judged = [
        case for case in report.cases if case.visibility is Visibility.HIDDEN and case.status is not CaseStatus.SKIPPED
    ]
    return sum(case.status is CaseStatus.PASSED for case in judged), len(judged)


def _without_data(cause: Cause | None) -> Cause | None:
    """An exception's text could carry the data: its type, if it is a known one, and the student's line remain."""
    if cause is None:
        return None
    table, _, name = cause.key.partition(".")
    key, hint_key = cause.key, cause.hint_key
    if table == "case" and name in RETOLD:
        own = name == "exception" and not _is_known(cause.params)
        key = "case.withheld.exception" if own else f"case.hinted.{name}"
    elif table == "compile" and name in NOT_COMPILED:
        key = "case.withheld.compile"
        hint_key = BY_CAUSE[key]
    return cause.model_copy(update={"key": key, "params": _shown(cause.params), "hint_key": hint_key})


def _shown(params: dict[str, Param]) -> dict[str, Param]:
    known = _is_known(params)
    return {name: value for name, value in params.items() if name in SHOWN_PARAMS and (name != "exception" or known)}


def _is_known(params: dict[str, Param]) -> bool:
    return params.get("exception") in KNOWN_EXCEPTIONS


def _anonymous(cause: Cause | None) -> Cause | None:
    """A test's exception, where this lane cannot judge it: not even its type."""
    if cause is None or cause.key != "judge.lane_cannot":
        return cause
    return cause.model_copy(update={"params": {}})


def _visible_annotation(annotation: Annotation) -> Annotation:
    """A marker where a test that is not public ended: the line, and the exception's type if it is a known one."""
    if annotation.key == "judge.lane_cannot":
        return annotation.model_copy(update={"params": {}, "column": None, "end_line": None})
    if annotation.key != "annotation.exception":
        return annotation
    if "exception" not in annotation.params:
        key = "annotation.stopped"
    else:
        key = annotation.key if _is_known(annotation.params) else "annotation.own_exception"
    shown = {"key": key, "params": _shown(annotation.params), "column": None, "end_line": None}
    return annotation.model_copy(update=shown)


def _pattern_only(case: CaseResult) -> Mismatch | None:
    if case.mismatch is None:
        return None
    told = case.mismatch
    return Mismatch(count=told.count, total=told.total, pattern=told.pattern)


def _hidden_cause(case: CaseResult) -> Cause | None:
    if case.status is CaseStatus.SKIPPED or case.cause is None:
        return case.cause
    if case.status is CaseStatus.PASSED:
        return None
    if case.cause.key == "case.not_run":
        return case.cause
    return Cause(key=f"case.hidden.{case.verdict}")
