"""Versions of drills as REST shows them to instructors."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.api.schemas import Answer, Time
from app.drills import service
from app.drills.findings import FindingOut
from app.drills.versions import ListedVersion, VersionView
from app.store.models import Validation, VersionState
from app.validations.events import Progress
from app.validations.outcomes import ValidationState
from graders.catalogue import Catalogue
from graders.manifest import Localised
from graders.validation import CaseOutcome, LaneCost, ReferenceTiming, SubmissionOutcome, ValidationReport
from graders.verdict import Lane


class VersionLinks(Answer):
    """Paths on this server."""

    self: str
    events: str
    publish: str
    retire: str
    validate_again: str

    @classmethod
    def of(cls, slug: str, number: int) -> VersionLinks:
        path = f"/api/v1/drills/{slug}/versions/{number}"
        return cls(
            self=path,
            events=f"{path}/events",
            publish=f"{path}/publish",
            retire=f"{path}/retire",
            validate_again=f"{path}/validate",
        )


class VersionSummary(Answer):
    slug: str
    version: int
    title: Localised
    state: VersionState
    current: bool = Field(description="Whether it is the version that students get now.")
    owner: str | None = Field(description="Who uploaded the drill first; null: it comes with Warpgrade.")
    digest: str = Field(description="SHA-256 over the version's files.")
    created_at: Time
    published_at: Time | None
    retired_at: Time | None
    links: VersionLinks

    @classmethod
    def of(cls, listed: ListedVersion) -> VersionSummary:
        return cls(**_summary(listed))


class VersionList(Answer):
    items: list[VersionSummary]


class ProgressOut(Answer):
    """How far a validation has come."""

    stage: str | None = Field(description="form, code or submissions; null before it begins.")
    done: int = Field(description="Of the drill's own submissions, those that are through.")
    total: int = Field(description="0 until it is known.")

    @classmethod
    def of(cls, progress: Progress) -> ProgressOut:
        return cls(stage=progress.stage, done=len(progress.submissions), total=progress.total)


class ValidationOut(Answer):
    """The newest run of the version through the judge."""

    state: ValidationState
    attempt: int = Field(description="Of ours at it; it grows when a worker was lost.")
    worker_id: str | None
    queued_at: Time
    started_at: Time | None
    finished_at: Time | None
    faults: list[Any] = Field(description="Why earlier attempts failed, through our fault.")
    progress: ProgressOut | None = Field(description="Null once it is done.")
    complete: bool | None = Field(
        description="Whether everything was run; null while there is no report, also when every attempt failed."
    )
    lane: Lane | None = Field(description="Where it was run.")
    findings: list[FindingOut] = Field(description="What is wrong, and what is worth a look.")
    submissions: list[SubmissionOutcome] = Field(description="The drill's own submissions and the reference.")
    cases: list[CaseOutcome] = Field(description="The hidden tests, and what each of them catches.")
    costs: list[LaneCost]
    reference: list[ReferenceTiming] = Field(description="The reference's speed, where it was measured.")

    @classmethod
    def of(
        cls, row: Validation, report: ValidationReport | None, catalogue: Catalogue, progress: Progress | None
    ) -> ValidationOut:
        return cls(
            state=ValidationState(row.state),
            attempt=row.attempt,
            worker_id=row.worker_id,
            queued_at=row.queued_at,
            started_at=row.started_at,
            finished_at=row.finished_at,
            faults=row.faults,
            progress=ProgressOut.of(progress) if progress else None,
            complete=report.complete if report else None,
            lane=report.lane if report else None,
            findings=[FindingOut.of(finding, catalogue) for finding in report.findings] if report else [],
            submissions=report.submissions if report else [],
            cases=report.cases if report else [],
            costs=report.costs if report else [],
            reference=report.reference if report else [],
        )


class VersionOut(VersionSummary):
    last_event: int = Field(description="Number of the latest event: a stream may go on from there.")
    validation: ValidationOut | None = Field(description="Null for what comes with Warpgrade.")

    @classmethod
    def in_full(cls, view: VersionView, catalogue: Catalogue, progress: Progress | None) -> VersionOut:
        shown = ValidationOut.of(view.validation, view.report, catalogue, progress) if view.validation else None
        return cls(**_summary(view), last_event=view.last_event, validation=shown)


def _summary(view: ListedVersion) -> dict[str, Any]:
    version = view.version
    return {
        "slug": view.slug,
        "version": version.number,
        "title": service.manifest_of(version).title,
        "state": view.state,
        "current": view.current,
        "owner": view.owner,
        "digest": version.digest,
        "created_at": version.created_at,
        "published_at": version.published_at,
        "retired_at": version.retired_at,
        "links": VersionLinks.of(view.slug, version.number),
    }
