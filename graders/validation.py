"""What validating a drill finds: the report that the command line, REST and the pages show.

A finding is a code with what it is about; its sentences are ``validation.<code>`` and, what to do about it,
``validation_cure.<code>`` in the catalogue. A code is an error or a warning once and for all: errors keep a version
from being published, warnings are shown.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, computed_field, field_validator, model_validator

from graders.catalogue import Catalogue
from graders.report import Message, Param
from graders.verdict import Lane, Verdict


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class FindingCode(StrEnum):
    """Every finding there is, in the order of the stages that look for them."""

    # the package and its files
    PACKAGE_UNREADABLE = "package_unreadable"
    PACKAGE_TOO_LARGE = "package_too_large"
    PACKAGE_BAD_NAME = "package_bad_name"
    PACKAGE_NO_DRILL = "package_no_drill"
    PACKAGE_SEVERAL_DRILLS = "package_several_drills"
    FILE_MISSING = "file_missing"
    NOT_UTF8 = "not_utf8"
    # drill.toml
    TOML_SYNTAX = "toml_syntax"
    UNSUPPORTED_FORMAT = "unsupported_format"
    UNKNOWN_KEY = "unknown_key"
    UNKNOWN_KEY_NEAR = "unknown_key_near"
    BAD_VALUE = "bad_value"
    SLUG_MISMATCH = "slug_mismatch"
    SLUG_RESERVED = "slug_reserved"
    # texts
    SENTENCE_MISSING = "sentence_missing"
    SENTENCE_UNREADABLE = "sentence_unreadable"
    SENTENCE_FIELDS = "sentence_fields"
    SENTENCE_TAKEN = "sentence_taken"
    STATEMENT_EMPTY = "statement_empty"
    STATEMENT_OMITS_CATEGORY = "statement_omits_category"
    # headers of submissions
    HEADER_UNREADABLE = "header_unreadable"
    HEADER_UNKNOWN_CATEGORY = "header_unknown_category"
    HEADER_UNKNOWN_MISCONCEPTION = "header_unknown_misconception"
    SUBMISSION_TOO_LONG = "submission_too_long"
    NO_WRONG_SUBMISSION = "no_wrong_submission"
    NO_ACCEPTED_SUBMISSION = "no_accepted_submission"
    # the drill's code
    PYTHON_SYNTAX = "python_syntax"
    LOAD_EXCEPTION = "load_exception"
    LOAD_UNUSABLE = "load_unusable"
    LOAD_TIME_LIMIT = "load_time_limit"
    LOAD_MEMORY_LIMIT = "load_memory_limit"
    LOAD_CRASHED = "load_crashed"
    CASE_EXCEPTION = "case_exception"
    CASE_CALL = "case_call"
    ORACLE_EXCEPTION = "oracle_exception"
    ORACLE_OUTPUT = "oracle_output"
    # the tolerance
    PASSES_ZEROS = "passes_zeros"
    PASSES_CONSTANT = "passes_constant"
    PASSES_INPUT = "passes_input"
    PASSES_ONE_ELEMENT_OFF = "passes_one_element_off"
    PASSES_ROWS_SWAPPED = "passes_rows_swapped"
    PASSES_THRICE_THE_BOUND = "passes_thrice_the_bound"
    REFUSES_ROUNDED = "refuses_rounded"
    REFUSES_OTHER_ORDER = "refuses_other_order"
    TOLERANCE_NOT_TESTED = "tolerance_not_tested"
    # the reference
    REFERENCE_FAILS = "reference_fails"
    REFERENCE_REFUSED = "reference_refused"
    REFERENCE_NOT_MEASURED = "reference_not_measured"
    REFERENCE_UNSTEADY = "reference_unsteady"
    # the submissions
    NOT_CAUGHT = "not_caught"
    UNEXPECTED_VERDICT = "unexpected_verdict"
    UNEXPECTED_CATEGORIES = "unexpected_categories"
    MISCONCEPTION_NOT_NAMED = "misconception_not_named"
    JUDGE_FAILED = "judge_failed"
    # what the tests catch
    CATEGORY_CATCHES_NOTHING = "category_catches_nothing"
    CASE_CATCHES_NOTHING = "case_catches_nothing"
    CAUGHT_BY_ONE_CASE = "caught_by_one_case"
    MISCONCEPTION_NEVER_NAMED = "misconception_never_named"
    CASES_NOT_JUDGED = "cases_not_judged"
    CASE_SLOW = "case_slow"

    @property
    def severity(self) -> Severity:
        return Severity.WARNING if self in _WARNINGS else Severity.ERROR


_WARNINGS = frozenset(
    {
        FindingCode.STATEMENT_OMITS_CATEGORY,
        FindingCode.NO_ACCEPTED_SUBMISSION,
        FindingCode.TOLERANCE_NOT_TESTED,
        FindingCode.REFERENCE_NOT_MEASURED,
        FindingCode.REFERENCE_UNSTEADY,
        FindingCode.CASE_CATCHES_NOTHING,
        FindingCode.CAUGHT_BY_ONE_CASE,
        FindingCode.MISCONCEPTION_NEVER_NAMED,
        FindingCode.CASES_NOT_JUDGED,
        FindingCode.CASE_SLOW,
    }
)


QUOTED_CHARACTERS = 500
"""The most that a finding quotes of anything: a value in a drill may have any length."""


def _clipped(text: str) -> str:
    return text if len(text) <= QUOTED_CHARACTERS else f"{text[: QUOTED_CHARACTERS - 1]}…"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Finding(_Model):
    """One thing that is wrong with a drill, or worth a look. Make it with ``Finding.of``."""

    code: FindingCode
    severity: Severity
    params: dict[str, Param] = {}
    file: str | None = Field(None, description="Within the package, such as graders/t2_softmax/cases.py.")
    line: int | None = Field(None, ge=1)
    submission: str | None = Field(None, description="Such as wrong_answer/padding_zero.")
    case: str | None = Field(None, description="Such as basic/random.")
    category: str | None = None
    cause: Message | None = Field(None, description="The judge's own reason, put into the sentence as {reason}.")

    @classmethod
    def of(
        cls,
        code: FindingCode,
        *,
        file: str | None = None,
        line: int | None = None,
        submission: str | None = None,
        case: str | None = None,
        category: str | None = None,
        cause: Message | None = None,
        **params: Param,
    ) -> Self:
        return cls(
            code=code,
            severity=code.severity,
            params=params,
            file=file,
            line=line,
            submission=submission,
            case=case,
            category=category,
            cause=cause,
        )

    @field_validator("params")
    @classmethod
    def _short(cls, params: dict[str, Param]) -> dict[str, Param]:
        return {name: _clipped(value) if isinstance(value, str) else value for name, value in params.items()}

    @field_validator("category")
    @classmethod
    def _short_too(cls, category: str | None) -> str | None:
        return category and _clipped(category)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.severity is not self.code.severity:
            raise ValueError(f"{self.code} is always {self.code.severity}")
        return self

    @property
    def place(self) -> str:
        """File and line, as compilers write them; empty where there is none."""
        return "" if self.file is None else self.file if self.line is None else f"{self.file}:{self.line}"

    def told(self, catalogue: Catalogue, locale: str) -> tuple[str, str]:
        """What is so, and what to do about it. ``catalogue`` may be extended with the drill's own sentences."""
        about = {"file": self.file, "submission": self.submission, "case": self.case, "category": self.category}
        values: dict[str, Param] = {name: value for name, value in about.items() if value is not None}
        if self.cause is not None:
            values["reason"] = catalogue.render(self.cause.key, self.cause.params, locale)
        values |= self.params
        keys = f"validation.{self.code}", f"validation_cure.{self.code}"
        return catalogue.render(keys[0], values, locale), catalogue.render(keys[1], values, locale)


class SubmissionOutcome(_Model):
    """One file of ``submissions/``, or the reference, and what the judge made of it."""

    name: str = Field(description="Such as wrong_answer/padding_zero; the reference is reference/<slug>.")
    expected: list[Verdict] = Field(description="One of these had to be given in this lane.")
    got: Verdict | None = Field(description="None when the judge came to no verdict.")
    expected_categories: list[str] | None = Field(None, description="None where the header names none for this lane.")
    failed_categories: list[str] = []
    failed_cases: list[str] = Field([], description="Such as basic/random.")
    passed_some: bool = Field(False, description="Whether it passed any case: only then does a failed one catch it.")
    expected_misconception: str | None = None
    misconceptions: list[str] = []
    duration_ms: float | None = None

    @property
    def as_expected(self) -> bool:
        categories = self.expected_categories
        return (
            self.got in self.expected
            and (categories is None or set(categories) == set(self.failed_categories))
            and (self.expected_misconception is None or self.expected_misconception in self.misconceptions)
        )


class CaseOutcome(_Model):
    """One hidden test, and the wrong submissions that it catches: those that pass some test, but not this one."""

    name: str
    category: str
    points: float
    judged: bool = Field(description="False where this lane skips it.")
    caught_by: list[str] = Field([], description="Names of the submissions that it catches.")
    reference_ms: float | None = None


class LaneCost(_Model):
    """What the dearest case costs in a lane: the slowest, among the reference and what is accepted."""

    lane: Lane
    slowest_case: str
    slowest_case_ms: float
    slowest_submission: str
    limit_ms: float = Field(description="The most that a case may take.")
    memory_mib: float | None = Field(None, description="What the tensors of the slowest case hold.")


class ReferenceTiming(_Model):
    """One timed shape of the reference, on a GPU."""

    shape: str
    time_us: float
    spread: float = Field(description="Relative, as in the report's timings.")
    fraction_of_copy: float


class ValidationReport(_Model):
    """A finished validation. ``complete`` is False when it ended before the submissions were run."""

    model_config = ConfigDict(frozen=True, extra="ignore")  # ``valid`` is written, and computed anew when read

    format: Literal[1] = 1
    slug: str | None = Field(description="None when the package does not even tell.")
    digest: str | None
    lane: Lane
    complete: bool
    findings: list[Finding] = []
    submissions: list[SubmissionOutcome] = []
    cases: list[CaseOutcome] = []
    costs: list[LaneCost] = []
    reference: list[ReferenceTiming] = []
    started_at: datetime
    finished_at: datetime

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity is Severity.ERROR]

    @property
    def warnings(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity is Severity.WARNING]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def valid(self) -> bool:
        """Whether the version may be published: everything was run, and no finding is an error."""
        return self.complete and not self.errors
