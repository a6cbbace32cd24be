"""Reading a submission out of a request body, JSON or a form with a file."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import UploadFile

from app.errors import PROBLEMS, Problem
from app.submissions.schemas import SubmissionOrder
from app.submissions.service import source_text
from graders.limits import SOURCE_BYTES


async def read_order(request: Request) -> SubmissionOrder:
    """The order, its source checked. Raises Problem and RequestValidationError."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind == "application/json":
            order = SubmissionOrder.model_validate_json(await request.body())
        elif kind == "multipart/form-data":
            order = SubmissionOrder.model_validate(await _form(request))
        else:
            raise Problem("unsupported-media-type", PROBLEMS["unsupported-media-type"].help)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**item, "loc": ("body", *item["loc"])} for item in errors]) from error
    return order.model_copy(update={"source": source_text(order.source)})


async def _form(request: Request) -> dict[str, Any]:
    """Fields ``drill`` and ``file``, or ``source`` as text."""
    async with request.form(max_files=1, max_fields=4) as form:
        fields: dict[str, Any] = dict(form)
        file = fields.pop("file", None)
        if isinstance(file, UploadFile):
            fields["source"] = source_text(await file.read(SOURCE_BYTES + 1))
        elif file is not None:
            fields["source"] = file
        return fields


IncomingOrder = Annotated[SubmissionOrder, Depends(read_order)]

_FORM_SCHEMA = {
    "type": "object",
    "required": ["drill", "file"],
    "properties": {"drill": {"type": "string"}, "file": {"type": "string", "format": "binary"}},
}

#: The body for the OpenAPI document, which FastAPI cannot see: we read it ourselves.
BODY_DOCUMENTED: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": SubmissionOrder.model_json_schema()},
            "multipart/form-data": {"schema": _FORM_SCHEMA},
        },
    }
}
