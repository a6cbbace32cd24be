"""Drills as REST shows them."""

from __future__ import annotations

from pydantic import Field

from app.api.schemas import Answer, Time
from app.store.models import DrillVersion
from graders.limits import SOURCE_BYTES, Limits
from graders.manifest import Category, Localised, Manifest, Operations, Tolerance
from graders.package import Package
from graders.verdict import Lane


class DrillSummary(Answer):
    slug: str
    version: int
    title: Localised
    summary: Localised
    tags: list[str]
    max_score: float

    @classmethod
    def of(cls, version: DrillVersion, manifest: Manifest) -> DrillSummary:
        return cls(**_summary(version, manifest))


class DrillList(Answer):
    items: list[DrillSummary]


class EntryPointOut(Answer):
    name: str
    inputs: list[str]
    outputs: list[str]
    signature: str


class LaneLimits(Answer):
    """What a grading may use on either kind of worker."""

    gpu: Limits
    interpreter: Limits


class DrillOut(DrillSummary):
    digest: str = Field(description="SHA-256 over the version's files.")
    published_at: Time | None
    statement: Localised = Field(description="Markdown with TeX between dollar signs.")
    starter: str = Field(description="What the editor starts with.")
    entry_point: EntryPointOut
    categories: list[Category]
    performance_points: float
    tolerance: Tolerance
    operations: Operations
    limits: LaneLimits
    source_bytes: int = Field(description="The longest source that is taken.")

    @classmethod
    def in_full(cls, version: DrillVersion, manifest: Manifest, package: Package, maximum: Limits) -> DrillOut:
        entry = manifest.entry_point
        return cls(
            **_summary(version, manifest),
            digest=version.digest,
            published_at=version.published_at,
            statement=Localised(en=package.statement("en"), zh=package.statement("zh")),
            starter=package.text("starter.py"),
            entry_point=EntryPointOut(
                name=entry.name, inputs=entry.inputs, outputs=entry.outputs, signature=entry.signature
            ),
            categories=manifest.categories,
            performance_points=manifest.performance_points,
            tolerance=manifest.tolerance,
            operations=manifest.operations,
            limits=LaneLimits(
                gpu=manifest.limits_for(Lane.GPU, maximum),
                interpreter=manifest.limits_for(Lane.INTERPRETER, maximum),
            ),
            source_bytes=SOURCE_BYTES,
        )


def _summary(version: DrillVersion, manifest: Manifest) -> dict[str, object]:
    return {
        "slug": manifest.slug,
        "version": version.number,
        "title": manifest.title,
        "summary": manifest.summary,
        "tags": manifest.tags,
        "max_score": manifest.correctness_points + manifest.performance_points,
    }
