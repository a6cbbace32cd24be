"""The report: what a grading ends in. One model for the worker, REST, the pages and exports.

Its validators hold the invariants, so that a report that contradicts itself cannot be made:
``accepted`` needs every case run and passed, a speed number needs every case passed, points never
exceed their maximum. Sentences are not stored: a ``Message`` is a key of the catalogue with its
parameters, rendered for the reader's language.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from graders.verdict import CaseStatus, State, Verdict, Visibility

Param = str | int | float | bool


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Message(_Model):
    """A sentence of the catalogue: its key and what is put into it."""

    key: str
    params: dict[str, Param] = {}


class Cause(Message):
    """Why a case did not pass, and where to look."""

    hint_key: str | None = None


class Environment(_Model):
    """What judged: enough to repeat it."""

    mode: Literal["gpu", "interpreter"]
    gpu: str | None = None
    driver: str | None = None
    python: str
    torch: str
    triton: str
    sandbox: str = Field(description="The tier, or 'unsandboxed'.")
    worker: str | None = None


class Timeline(_Model):
    """RFC 3339 times in UTC."""

    queued_at: datetime | None = None
    claimed_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    phases_ms: dict[str, float] = {}
    measuring_ms: dict[str, float] = Field(
        default={}, description="Of the phase measure, by what was done in it, all rounds together."
    )


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Annotation(Message):
    """A marker in the student's file. Lines and columns count from 1."""

    line: int = Field(ge=1)
    column: int | None = Field(None, ge=1)
    end_line: int | None = Field(None, ge=1)
    severity: Severity


class WrongElement(_Model):
    """An element that is wrong. Values are decimal text, since JSON has no NaN or infinity."""

    index: list[int]
    expected: str
    got: str
    allowed: float | None = Field(
        None, description="The error that it may have; none where it must be exactly that, or in an older report."
    )


class Mismatch(_Model):
    """How an output differs from the oracle's."""

    count: int = Field(ge=1)
    total: int = Field(ge=1)
    max_abs: float | None = Field(None, description="Largest finite absolute error.")
    max_ulp: float | None = Field(None, description="The same in units in the last place of the output's dtype.")
    mean_abs: float | None = Field(None, description="Mean absolute error of the wrong elements where it is finite.")
    first: WrongElement | None = None
    more: list[WrongElement] = Field([], description="A few further ones, spread over those of the first rows.")
    pattern: str | None = Field(None, description="Catalogue key of the pattern that the wrong elements form.")


class CaseResult(_Model):
    """One hidden test."""

    ordinal: int = Field(ge=1)
    name: str
    category: str
    visibility: Visibility
    status: CaseStatus
    verdict: Verdict | None = Field(description="None for a skipped case.")
    points: float = Field(ge=0)
    max_points: float = Field(ge=0)
    duration_ms: float | None = None
    cause: Cause | None = None
    mismatch: Mismatch | None = None
    misconception: str | None = None
    stdout: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.status is CaseStatus.PASSED) != (self.verdict is Verdict.ACCEPTED):
            raise ValueError("a case is passed exactly if its verdict is accepted")
        if (self.status is CaseStatus.SKIPPED) != (self.verdict is None):
            raise ValueError("a case has no verdict exactly if it was skipped")
        if self.status is not CaseStatus.PASSED and self.points:
            raise ValueError("only a passed case has points")
        if self.points > self.max_points + 1e-9:
            raise ValueError("points exceed the case's maximum")
        if self.status is not CaseStatus.PASSED and self.cause is None:
            raise ValueError("a case that did not pass says why")
        return self


class CategoryResult(_Model):
    """A category's sum. ``max_points`` is 0 when none of its cases could be judged here."""

    name: str
    visibility: Visibility
    points: float
    max_points: float
    passed: int
    judged: int
    skipped: int


class Diagnosis(_Model):
    """A named mistake whose model equals the wrong output."""

    misconception: str
    evidence: Message
    hint_key: str
    cases: list[int] = Field(description="Ordinals of the cases whose output the model predicts.")
    lines: list[int] = []


class KernelResources(_Model):
    """What the compiler made of one specialisation of a kernel."""

    name: str
    target: str = Field(description="For instance sm_90.")
    num_warps: int
    num_stages: int | None = None
    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None


class MeasuredKernel(_Model):
    name: str
    launches: int
    grid: list[int]
    num_warps: int
    num_stages: int
    registers: int
    spills: int
    shared_bytes: int


class ShapeTiming(_Model):
    """One performance shape. Times are medians in microseconds."""

    name: str
    shape: list[int]
    dtype: str
    time_us: float
    spread: float
    reference_us: float
    reference_spread: float | None = Field(None, description="As spread; reports made before it was kept have none.")
    torch_us: float | None = Field(None, description="torch's own function, in the reference's runner.")
    copy_us: float | None = Field(None, description="A copy of the same bytes, in the reference's runner.")
    ratio: float
    half_width: float = Field(description="Of the ratio, relative, at 95 %.")
    rounds: int
    gbps: float
    fraction_of_copy: float
    kernels: list[MeasuredKernel] = []


class DeviceConditions(_Model):
    """The GPU while it was measured: one sample a round."""

    sm_clock_mhz: float = Field(description="Median.")
    lowest_sm_clock_mhz: float
    memory_clock_mhz: float = Field(description="Median.")
    highest_temperature_c: float
    highest_power_w: float
    throttled_rounds: int = Field(ge=0, description="Rounds repeated, or kept, while the GPU held itself back.")
    throttle_reasons: list[str] = []


class PerformanceStatus(StrEnum):
    MEASURED = "measured"
    NOT_MEASURED = "not_measured"
    INTERFERENCE = "interference"
    NOT_REACHED = "not_reached"


class Performance(_Model):
    status: PerformanceStatus
    reason: Message | None = None
    pending_points: float = Field(
        0,
        ge=0,
        description="Points of an accepted submission that a worker with a GPU would judge, were it submitted there.",
    )
    points: float = Field(0, ge=0)
    max_points: float = Field(0, ge=0)
    ratio: float | None = None
    ratio_ci: tuple[float, float] | None = None
    shapes: list[ShapeTiming] = []
    conditions: DeviceConditions | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.status is PerformanceStatus.MEASURED:
            if self.ratio is None or not self.shapes:
                raise ValueError("a measured performance has a ratio and shapes")
        elif self.ratio is not None or self.shapes or self.points:
            raise ValueError("a performance that was not measured has no numbers")
        if self.status is not PerformanceStatus.MEASURED and self.reason is None:
            raise ValueError("a performance that was not measured says why")
        return self


class Report(_Model):
    """A finished grading, for staff: ``graders.visibility`` makes the student's view of it."""

    format: Literal[1] = 1
    id: str
    drill: str
    drill_version: int
    attempt: int
    state: State
    verdict: Verdict
    score: float = Field(ge=0)
    max_score: float = Field(ge=0, description="Points that could be judged here.")
    environment: Environment
    timeline: Timeline
    cause: Cause | None = Field(None, description="Why the whole submission has its verdict, where no case says it.")
    withheld: bool = Field(
        False, description="Whether what ended it may be made of tests that are not public: students are told less."
    )
    notices: list[Message] = []
    annotations: list[Annotation] = []
    expected_cases: int = Field(ge=0, description="Number of cases of the drill version.")
    cases: list[CaseResult] = []
    categories: list[CategoryResult] = []
    diagnoses: list[Diagnosis] = []
    kernels: list[KernelResources] = []
    output: str | None = Field(None, description="What the submission printed outside a case, clipped.")
    performance: Performance

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.state.final:
            raise ValueError("a report belongs to a finished grading")
        if self.verdict is Verdict.ACCEPTED:
            self._require_complete()
        elif self.verdict is not Verdict.WRONG_ANSWER and self.cause is None and not self._told_by_a_case():
            raise ValueError(f"{self.verdict} is explained neither by the report nor by a case")
        if self.performance.status is PerformanceStatus.MEASURED and self.verdict is not Verdict.ACCEPTED:
            raise ValueError("speed is measured only when every case passed")
        if self.score > self.max_score + 1e-6:
            raise ValueError("the score exceeds what could be reached")
        return self

    def _require_complete(self) -> None:
        if len(self.cases) != self.expected_cases:
            raise ValueError(f"accepted needs {self.expected_cases} cases, not {len(self.cases)}")
        if any(case.status not in (CaseStatus.PASSED, CaseStatus.SKIPPED) for case in self.cases):
            raise ValueError("accepted needs every judged case passed")
        if not any(case.status is CaseStatus.PASSED for case in self.cases):
            raise ValueError("accepted needs a case that was judged")

    def _told_by_a_case(self) -> bool:
        return any(case.verdict is self.verdict for case in self.cases)
