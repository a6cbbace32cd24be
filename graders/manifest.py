"""``drill.toml``: what a drill says of itself."""

from __future__ import annotations

import difflib
import keyword
import reprlib
import tomllib
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from graders.limits import Limits, LimitsOverride
from graders.toml_places import error_line, line_of, read_toml
from graders.verdict import Lane, Visibility

FORMAT = 1
"""The one format of drill.toml that there is so far."""

MOST_PROBLEMS = 100
"""As many are told one by one: a text can be made to have any number, and each takes time to place."""

_SHOWN_CHARACTERS = 200

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)]
Points = Annotated[float, Field(gt=0, le=10_000)]
Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$", max_length=64)]


class ProblemKind(StrEnum):
    SYNTAX = "syntax"
    FORMAT = "format"
    UNKNOWN_KEY = "unknown_key"
    VALUE = "value"


@dataclass(frozen=True)
class ManifestProblem:
    """One thing wrong with a ``drill.toml``. ``key`` is dotted; ``near`` is the known name that an unknown is near to;
    ``line`` counts from 1 and is None where the text does not tell. For a format, ``reason`` is what stands there."""

    kind: ProblemKind
    key: str
    reason: str
    near: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.kind is ProblemKind.SYNTAX:
            return self.reason
        if self.kind is ProblemKind.FORMAT:
            return f"format: {self.reason} is not {FORMAT}, the one format that this Warpgrade reads"
        return f"{self.key}: {self.reason}" + (f" (did you mean {self.near!r}?)" if self.near else "")


class ManifestError(ValueError):
    """A manifest that cannot be used; the message names each key and the reason, ``problems`` has them one by one."""

    def __init__(self, message: str, problems: tuple[ManifestProblem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class _Table(BaseModel):
    """A table of drill.toml: what nobody reads is refused, so that a misspelt key cannot go unnoticed."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Localised(_Table):
    """A short text in both languages."""

    en: str = Field(min_length=1)
    zh: str = Field(min_length=1)

    def text(self, locale: str) -> str:
        return self.zh if locale == "zh" else self.en


class EntryPoint(_Table):
    """The function that is called as ``name(*inputs, *outputs)`` and returns nothing."""

    name: Identifier = Field(description="A function of the submission.")
    inputs: list[Identifier] = Field(min_length=1, description="Names of the input tensors, in order.")
    outputs: list[Identifier] = Field(min_length=1, description="Names of the output tensors, which follow the inputs.")

    @model_validator(mode="after")
    def _can_be_written(self) -> Self:
        if doubled := _doubled(self.parameters):
            raise ValueError(f"the parameter {doubled!r} is named twice")
        for name in (self.name, *self.parameters):
            if keyword.iskeyword(name):
                raise ValueError(f"{name!r} is a word of Python's own")
        return self

    @property
    def parameters(self) -> list[str]:
        return [*self.inputs, *self.outputs]

    @property
    def signature(self) -> str:
        arguments = ", ".join(f"{name}: torch.Tensor" for name in self.parameters)
        return f"{self.name}({arguments}) -> None"


PolicyName = Literal["one_rounding", "one_rounding_and_absolute"]


class Tolerance(_Table):
    """A policy of ``graders.tolerance`` with its parameters and why it fits."""

    policy: PolicyName
    relative: float = Field(gt=0, lt=1, description="Allowed error, as a fraction of the right value.")
    absolute: float | None = Field(
        None, gt=0, description="For one_rounding_and_absolute: allowed besides, whatever the right value."
    )
    reason: str = Field(min_length=1, description="Why right kernels meet it and wrong ones do not.")

    @model_validator(mode="after")
    def _absolute_where_it_counts(self) -> Self:
        if (self.absolute is not None) != (self.policy == "one_rounding_and_absolute"):
            raise ValueError("absolute belongs to the policy one_rounding_and_absolute, and to no other")
        return self


class Category(_Table):
    """A group of hidden tests that share points and visibility."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)
    points: Points = Field(description="Shared equally by its tests.")
    visibility: Visibility = Field(description="What students are told of its tests.")
    title: Localised


class PerformancePart(_Table):
    """Points for speed, measured on a GPU at the shapes of ``performance.py``."""

    points: Points


class LimitsTable(_Table):
    """What a grading may use, where the drill asks for other than the default."""

    gpu: LimitsOverride = LimitsOverride()
    interpreter: LimitsOverride = LimitsOverride()


class Operations(_Table):
    """The torch operations that a submission may use: the work itself is for its kernels."""

    allowed: list[str] = Field(description="Base names, such as aten.empty_like, whatever the overload.")


class Manifest(_Table):
    """A drill's manifest, validated."""

    format: Literal[1] = Field(description="The version of this file's form.")
    slug: Slug
    title: Localised
    summary: Localised
    entry_point: EntryPoint
    tags: list[str] = []
    tolerance: Tolerance
    limits: LimitsTable = LimitsTable()
    operations: Operations
    performance: PerformancePart | None = None
    categories: list[Category] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct_categories(self) -> Manifest:
        if doubled := _doubled([category.name for category in self.categories]):
            raise ValueError(f"category {doubled!r} is declared twice")
        return self

    def category(self, name: str) -> Category:
        for category in self.categories:
            if category.name == name:
                return category
        raise ManifestError(f"no category {name!r} in drill.toml")

    @property
    def correctness_points(self) -> float:
        return sum(category.points for category in self.categories)

    @property
    def performance_points(self) -> float:
        return self.performance.points if self.performance else 0.0

    def limits_for(self, lane: Lane, maximum: Limits | None = None) -> Limits:
        override = self.limits.gpu if lane is Lane.GPU else self.limits.interpreter
        return Limits.default(lane).overridden(override, maximum)


def parse_manifest(text: str) -> Manifest:
    """Read ``drill.toml``. Raises ManifestError, which names the key and, for an unknown one, the nearest known."""
    try:
        return Manifest.model_validate(read_toml(text))
    except tomllib.TOMLDecodeError as error:
        problem = ManifestProblem(ProblemKind.SYNTAX, "", str(error), line=error_line(error))
        raise ManifestError(f"drill.toml is not valid TOML: {error}", (problem,)) from error
    except ValidationError as error:
        problems = tuple(_problem(item, text) for item in islice(error.errors(include_url=False), MOST_PROBLEMS))
        more = [f"{error.error_count() - MOST_PROBLEMS} more"] if error.error_count() > MOST_PROBLEMS else []
        raise ManifestError("; ".join([*map(str, problems), *more]), problems) from error


def manifest_schema() -> dict[str, Any]:
    """The JSON schema of ``drill.toml``, for editors."""
    schema = Manifest.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "drill.toml"}


def _doubled(names: list[str]) -> str | None:
    """A name that occurs more than once."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _problem(item: ErrorDetails, text: str) -> ManifestProblem:
    location = item["loc"]
    key, line = ".".join(map(str, location))[:_SHOWN_CHARACTERS] or "drill.toml", line_of(text, location)
    if item["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(location[-1]), _known_keys(location), n=1)
        return ManifestProblem(ProblemKind.UNKNOWN_KEY, key, "unknown key", near[0] if near else None, line)
    if location == ("format",) and item["type"] != "missing":
        return ManifestProblem(ProblemKind.FORMAT, key, _shown(item["input"]), line=line)
    return ManifestProblem(ProblemKind.VALUE, key, item["msg"].removeprefix("Value error, "), line=line)


def _shown(value: object) -> str:
    """A value as it may stand in a sentence: neither deep nor long."""
    if isinstance(value, str):
        return value[:_SHOWN_CHARACTERS]
    try:
        return reprlib.repr(value)
    except ValueError:  # Python writes no integer of so many digits
        return "an endless number"


def _known_keys(location: tuple[int | str, ...]) -> list[str]:
    """The keys of the table that holds the key at ``location``."""
    table: type[BaseModel] = Manifest
    for part in location[:-1]:
        if isinstance(part, str):
            table = _table_within(table.model_fields[part].annotation)
    return sorted(table.model_fields)


def _table_within(annotation: Any) -> type[BaseModel]:
    """The table of ``Table``, ``Table | None`` or ``list[Table]``."""
    candidates = (annotation, *get_args(annotation))
    return next(item for item in candidates if isinstance(item, type) and issubclass(item, BaseModel))
