"""Reading drills."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.dependencies import AppResources, Reading
from app.api.openapi import problems
from app.drills import service
from app.drills.schemas import DrillList, DrillOut, DrillSummary
from app.errors import Problem

router = APIRouter(prefix="/drills", tags=["drills"])


@router.get("")
def list_drills(session: Reading) -> DrillList:
    """The published drills, by slug."""
    versions = service.all_published(session)
    return DrillList(items=[DrillSummary.of(version, service.manifest_of(version)) for version in versions])


@router.get("/{slug}", responses=problems("unknown-drill"))
def read_drill(slug: str, session: Reading, resources: AppResources) -> DrillOut:
    """A drill's current version: its statement in both languages, entry point, points and limits."""
    version = service.published(session, slug)
    if version is None:
        raise Problem("unknown-drill", f"There is no published drill {slug!r}.")
    package = service.package_of(session, version)
    return DrillOut.in_full(version, service.manifest_of(version), package, resources.settings.limits)
