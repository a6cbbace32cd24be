"""Which language a page speaks: the reader's choice in a cookie, else what the browser asks for."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import RedirectResponse

from app.pages.addresses import local_path, see_other
from graders.catalogue import LOCALES

COOKIE = "warpgrade_language"
HTML_LANGUAGES = {"en": "en", "zh": "zh-Hans"}
_YEAR_S = 365 * 24 * 3600

router = APIRouter()


def locale_of(request: Request) -> str:
    """The language of the answer to a request."""
    chosen = request.cookies.get(COOKIE, "")
    return chosen if chosen in LOCALES else _accepted(request.headers.get("accept-language", ""))


@router.post("/language")
def choose_language(
    locale: Annotated[Literal["en", "zh"], Form()], next: Annotated[str, Form()] = "/"
) -> RedirectResponse:
    """Remember the reader's language and go back to where they were."""
    response = see_other(local_path(next))
    response.set_cookie(COOKIE, locale, max_age=_YEAR_S, httponly=True, samesite="lax")
    return response


def _accepted(header: str) -> str:
    """The language of ours that Accept-Language prefers; of equals the first named."""
    best, best_weight = LOCALES[0], 0.0
    for item in header.split(","):
        tag, _, parameter = item.partition(";")
        language = tag.strip().lower().partition("-")[0]
        weight = _weight(parameter)
        if language in LOCALES and weight > best_weight:
            best, best_weight = language, weight
    return best


def _weight(parameter: str) -> float:
    name, _, value = parameter.partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
