"""What the OpenAPI document says of every route: how one signs in, and that whatever goes wrong is a problem."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from app.api.problems import MEDIA_TYPE
from app.errors import PROBLEMS

_NAME = "Problem"
_CONTENT = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{_NAME}"}}}

Responses = dict[int | str, dict[str, Any]]

bearer = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A token from POST /api/v1/users or /api/v1/tokens, or from the operator. Browsers sign in at /login.",
)
"""For the document alone: who calls is found out by ``app.api.dependencies``, which knows browsers too."""


class FieldProblem(BaseModel):
    field: str = Field(description="Dotted.")
    code: str = Field(description="Stable.")
    detail: str


class ProblemDocument(BaseModel):
    """RFC 9457. A type may have members besides, such as a refused package's findings."""

    model_config = ConfigDict(extra="allow", title=_NAME)

    type: str = Field(description="Stable; its page, at this path on this server, says what one can do.")
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] | None = Field(None, description="What is wrong with which field; absent otherwise.")


def problems(*slugs: str) -> Responses:
    """Responses for ``responses=``: the types of problems that a route answers with, by their statuses."""
    responses: Responses = {}
    for slug in slugs:
        known = PROBLEMS[slug]
        made = responses.setdefault(known.status, {"description": "", "content": _CONTENT})
        made["description"] = "; ".join(filter(None, [made["description"], f"`{known.uri}`: {known.title}"]))
        if known.status == PROBLEMS["too-many-submissions"].status:
            made["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}
    return responses


EVERYWHERE: Responses = {
    **problems("not-signed-in"),
    "default": {"description": "Any other status that is no success: a problem.", "content": _CONTENT},
}
"""What any route under /api/v1 may answer."""

CHANGES = ("cross-origin",)
"""What a route that changes something may answer besides."""

BODIES = ("bad-request", *CHANGES, "body-too-large", "unsupported-media-type", "invalid-request")
"""What a route that takes a body may answer besides."""


class DocumentedApp(FastAPI):
    """An application whose document knows the problem schema, which no route names as a model of its own."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            schemas = super().openapi()["components"]["schemas"]
            made = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= made.pop("$defs") | {_NAME: made}
        return super().openapi()
