"""``drill.toml``: what a drill says of itself."""

from __future__ import annotations

import difflib
import tomllib
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from graders.limits import Limits, LimitsOverride
from graders.verdict import Lane, Visibility

Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$", max_length=64)]


class ManifestError(ValueError):
    """A manifest that cannot be used; the message names the key and the reason."""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Localised(_Table):
    """A short text in both languages."""

    en: str = Field(min_length=1)
    zh: str = Field(min_length=1)

    def text(self, locale: str) -> str:
        return self.zh if locale == "zh" else self.en


class EntryPoint(_Table):
    """The function that is called as ``name(*inputs, *outputs)`` and returns nothing."""

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    inputs: list[str] = Field(min_length=1)
    outputs: list[str] = Field(min_length=1)

    @property
    def parameters(self) -> list[str]:
        return [*self.inputs, *self.outputs]

    @property
    def signature(self) -> str:
        arguments = ", ".join(f"{name}: torch.Tensor" for name in self.parameters)
        return f"{self.name}({arguments}) -> None"


class Tolerance(_Table):
    """A policy of ``graders.tolerance`` with its parameters and why it fits."""

    policy: str
    relative: float = Field(gt=0)
    reason: str = Field(min_length=1)


class Category(_Table):
    """A group of hidden tests that share points and visibility."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    points: float = Field(gt=0)
    visibility: Visibility
    title: Localised


class PerformancePart(_Table):
    points: float = Field(gt=0)


class LimitsTable(_Table):
    gpu: LimitsOverride = LimitsOverride()
    interpreter: LimitsOverride = LimitsOverride()


class Operations(_Table):
    """The torch operations that a submission may use: the work itself is for its kernels."""

    allowed: list[str]


class Manifest(_Table):
    """A drill's manifest, validated."""

    format: Literal[1]
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
        names = [category.name for category in self.categories]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ValueError(f"category {doubled[0]!r} is declared twice")
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
        return Manifest.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ManifestError(f"drill.toml is not valid TOML: {error}") from error
    except ValidationError as error:
        raise ManifestError("; ".join(_describe(item) for item in error.errors())) from error


def _describe(item: ErrorDetails) -> str:
    where = ".".join(str(part) for part in item["loc"]) or "drill.toml"
    if item["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(item["loc"][-1]), _known_keys(), n=1)
        return f"{where}: unknown key" + (f" (did you mean {near[0]!r}?)" if near else "")
    return f"{where}: {item['msg']}"


def _known_keys() -> list[str]:
    tables = (Manifest, EntryPoint, Tolerance, Category, PerformancePart, LimitsTable, LimitsOverride, Operations)
    return sorted({name for table in tables for name in table.model_fields})
