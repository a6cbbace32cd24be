"""What a runner may say, as schemas: anything else ends it. Nothing in here is believed, only shown."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from worker.protocol.channel import ProtocolError


def without_nul(text: str) -> str:
    """The text as a database can store it: PostgreSQL takes no NUL."""
    return text.replace("\0", "\ufffd")


Name = Annotated[str, Field(max_length=200), AfterValidator(without_nul)]
Text = Annotated[str, Field(max_length=4000), AfterValidator(without_nul)]
Bytes = Annotated[int, Field(ge=0, le=1 << 30)]
Line = Annotated[int, Field(ge=1, le=1_000_000)] | None


class _Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Failure(_Said):
    """Why a load or a call failed, in the submission's own terms."""

    kind: Literal[
        "syntax",
        "missing_entry",
        "not_callable",
        "signature",
        "exception",
        "interpreter",
        "kernel",
        "device",
        "device_memory",
    ]
    name: Name = ""
    got: Name = ""
    exception: Name = ""
    message: Text = ""
    line: Line = None
    column: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    end_line: Line = None


class Ready(_Said):
    type: Literal["ready"]


class Loaded(_Said):
    type: Literal["loaded"]


class Mapped(_Said):
    type: Literal["mapped"]


class CompiledKernel(_Said):
    name: Name
    target: Name
    num_warps: Annotated[int, Field(ge=1, le=64)]
    num_stages: Annotated[int, Field(ge=0, le=64)] | None = None
    registers: Annotated[int, Field(ge=0, le=1024)] | None = None
    spill_bytes: Bytes | None = None
    shared_bytes: Bytes | None = None


Functions = Annotated[list[Name], Field(max_length=64)]
"""Names of kernels, as their ``def`` has them."""


class Returned(_Said):
    """A call came back. ``returned`` names the type of a result that nobody asked for, ``functions`` the kernels
    that it launched. What it says may be made of a test's data: a student is never shown it."""

    type: Literal["returned"]
    launches: Annotated[int, Field(ge=0)]
    operations: Annotated[list[Name], Field(max_length=256)]
    returned: Name | None
    functions: Functions = []

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.launches and not self.functions:
            raise ValueError("what is launched has a name")
        return self


class Compiled(_Said):
    """What was compiled, before the submission has seen any data: its names may be shown."""

    type: Literal["compiled"]
    kernels: Annotated[list[CompiledKernel], Field(max_length=64)]
    functions: Functions = []


class Went(_Said):
    """What a shape's timed rounds needed was done, says the runner; of the rounds themselves a doorbell tells."""

    type: Literal["went"]


class Captured(_Said):
    """Whether all calls could be captured in graphs."""

    type: Literal["captured"]
    all: bool


class Failed(_Said):
    type: Literal["failed"]
    failure: Failure


Said = Ready | Loaded | Mapped | Returned | Compiled | Went | Captured | Failed

_ADAPTER: TypeAdapter[Said] = TypeAdapter(Annotated[Said, Field(discriminator="type")])


def parse(message: dict[str, Any]) -> Said:
    """The message, checked. Raises ProtocolError."""
    try:
        return _ADAPTER.validate_python(message)
    except ValidationError as error:
        raise ProtocolError(f"not a message a runner may send: {error.error_count()} errors") from error
