"""``/api/v1`` put together."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Security

from app.api.dependencies import require_caller
from app.api.openapi import EVERYWHERE, bearer
from app.drills.routes import router as drills
from app.drills.version_routes import router as versions
from app.submissions.routes import router as submissions
from app.users.routes import router as users

router = APIRouter(prefix="/api/v1", dependencies=[Depends(require_caller), Security(bearer)], responses=EVERYWHERE)
for part in (drills, versions, submissions, users):
    router.include_router(part)
