"""What a grading may use. Units stand in the names."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from graders.verdict import Lane

SOURCE_BYTES = 64 * 1024
PACKAGE_BYTES = 8 * 1024 * 1024
MOST_TASKS = 256
"""The wall of every standby runner, since it is not known yet which drill it is for: a drill may only lower it."""


class Limits(BaseModel):
    """The limits one grading runs under."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    case_s: float = Field(10.0, gt=0, description="One case, by the judge's wall clock.")
    compile_s: float = Field(60.0, gt=0, description="Import, compile and autotune, apart from the cases.")
    grading_s: float = Field(180.0, gt=0, description="The whole grading.")
    host_memory_mib: int = Field(4096, gt=0, description="Above what a standby runner holds.")
    device_memory_mib: int = Field(10240, gt=0, description="Above what the case itself needs.")
    tasks: int = Field(MOST_TASKS, gt=0, description="Processes and threads.")
    open_files: int = Field(1024, gt=0)
    scratch_mib: int = Field(512, gt=0, description="The tmpfs that holds HOME, TMPDIR and the Triton cache.")
    output_kept_kib: int = Field(64, gt=0, description="Of standard output and error, kept for the report.")
    output_kib: int = Field(1024, gt=0, description="Output after which the submission is stopped.")

    @classmethod
    def default(cls, lane: Lane) -> Self:
        return cls(case_s=15.0) if lane is Lane.INTERPRETER else cls()

    def overridden(self, drill: LimitsOverride, maximum: Limits | None = None) -> Limits:
        """These limits with a drill's own values, none of them over the operator's maximum."""
        values = self.model_dump() | drill.model_dump(exclude_none=True)
        if maximum is not None:
            values = {name: min(value, getattr(maximum, name)) for name, value in values.items()}
        return Limits(**values)


class LimitsOverride(BaseModel):
    """The limits a drill sets for one lane; what is absent keeps its default."""

    # No scratch_mib and no open_files: their walls stand before it is known which drill a runner is for.

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    case_s: float | None = Field(None, gt=0)
    compile_s: float | None = Field(None, gt=0)
    grading_s: float | None = Field(None, gt=0)
    host_memory_mib: int | None = Field(None, gt=0)
    device_memory_mib: int | None = Field(None, gt=0)
    tasks: int | None = Field(None, gt=0, le=MOST_TASKS)
    output_kib: int | None = Field(None, gt=0)
