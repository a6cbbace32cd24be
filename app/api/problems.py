"""Problems as HTTP answers: one place for everything that goes wrong."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from app.errors import PROBLEMS, FieldError, Problem, problem_of_status
from app.store.engine import AWAY, why_away

_MOST_ERRORS = 20  # anybody can make any number of them
_FIELD_CHARACTERS = 200
_TRY_AGAIN_S = "5"
MEDIA_TYPE = "application/problem+json"

_log = logging.getLogger(__name__)

router = APIRouter(include_in_schema=False)


@router.get("/problems/{slug}")
def problem_page(slug: str) -> dict[str, Any]:
    """What a problem's ``type`` points to."""
    known = PROBLEMS.get(slug)
    if known is None:
        raise Problem("not-found", f"There is no problem type {slug!r}.")
    return {"type": known.uri, "title": known.title, "status": known.status, "help": known.help}


def problem_response(problem: Problem) -> JSONResponse:
    return JSONResponse(problem.body(), problem.status, headers=problem.headers, media_type=MEDIA_TYPE)


def invalid_request(errors: Sequence[Mapping[str, Any]]) -> Problem:
    """pydantic's errors as one problem, field by field: the first of them. What was sent is not repeated."""
    fields = [
        FieldError(_field(error["loc"]), str(error["type"]), str(error["msg"]).removeprefix("Value error, "))
        for error in errors[:_MOST_ERRORS]
    ]
    more = [f"{len(errors) - _MOST_ERRORS} more"] if len(errors) > _MOST_ERRORS else []
    detail = "; ".join([*(f"{item.field}: {item.detail}" for item in fields), *more])
    return Problem("invalid-request", detail, errors=fields)


def install_handlers(app: FastAPI) -> None:
    """Answer every error of ``app`` as a problem."""

    async def on_problem(_request: Request, error: Exception) -> JSONResponse:
        return problem_response(_as_problem(error))

    for kind in (Problem, RequestValidationError, HTTPException, *AWAY, Exception):
        app.add_exception_handler(kind, on_problem)


def _as_problem(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case RequestValidationError() if any(item["type"] == "json_invalid" for item in error.errors()):
            return problem_of_status(400)  # as FastAPI answers what is no UTF-8, or too deep
        case RequestValidationError():
            return invalid_request(error.errors())
        case HTTPException():
            return problem_of_status(error.status_code, dict(error.headers or {}))
    if isinstance(error, AWAY):
        _log.warning("the database does not answer: %s", why_away(error))
        away = PROBLEMS["database-away"]
        return Problem(away.slug, away.help, headers={"Retry-After": _TRY_AGAIN_S})
    reference = secrets.token_hex(6)
    _log.error("internal error, reference %s", reference, exc_info=error)
    return Problem("internal-error", f"Something went wrong on our side. Reference: {reference}")


def _field(location: Sequence[Any]) -> str:
    """``("body", "source")`` as ``source``; what has no name of its own is called by its place."""
    names = [str(part) for part in location]
    return ".".join(names[1:] or names)[:_FIELD_CHARACTERS] or "body"
