"""Reading an upload out of a form. Who may not upload is refused before the body is read."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.datastructures import UploadFile

from app.access.principals import Role
from app.api.dependencies import Caller
from app.errors import PROBLEMS, FieldError, Problem
from graders.limits import PACKAGE_BYTES

UPLOAD_PATHS = ("/api/v1/drills", "/instructor/upload")
"""Where packages are sent to: alone there a body may be larger than elsewhere."""

UPLOAD_BODY_BYTES = PACKAGE_BYTES + 64 * 1024  # what a form has around its file


async def read_upload(request: Request, caller: Caller) -> bytes:
    """The bytes of the form's field ``file``. Raises Problem(forbidden, unsupported-media-type, invalid-request)."""
    caller.require(Role.INSTRUCTOR)
    return await form_file(request)


async def form_file(request: Request) -> bytes:
    """The bytes of the form's field ``file``. Raises Problem(unsupported-media-type, invalid-request)."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise Problem("unsupported-media-type", PROBLEMS["unsupported-media-type"].help)
    async with request.form(max_files=1, max_fields=1) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            detail = "a zip is needed in the form's field 'file'"
            raise Problem("invalid-request", detail, errors=[FieldError("file", "missing", detail)])
        return await file.read()


UploadedBytes = Annotated[bytes, Depends(read_upload)]

#: The body for the OpenAPI document, which FastAPI cannot see: we read it ourselves.
UPLOAD_DOCUMENTED: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {
                            "type": "string",
                            "format": "binary",
                            "description": "A zip of graders/<slug>/ and reference/<slug>.py, at most 8 MiB.",
                        }
                    },
                }
            }
        },
    }
}
