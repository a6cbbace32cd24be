"""One page: who reads it, in which language, and the answer that carries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse

from app.access.principals import Principal
from app.api.dependencies import MaybeCaller
from app.pages.addresses import here
from app.pages.environment import environment
from app.pages.language import HTML_LANGUAGES, locale_of
from app.pages.texts import Speaker, page_texts

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # Not 'no-referrer': browsers would then send 'Origin: null' with our own forms, which the guard refuses.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
    "Vary": "Accept, Accept-Language, Cookie",
}


class SignInNeeded(Exception):
    """A page that wants to know who reads it; ``next`` is where to go on after signing in."""

    def __init__(self, next: str) -> None:
        super().__init__(next)
        self.next = next


@dataclass(frozen=True)
class Page:
    """What every template is given as ``page``. ``reader`` None: not signed in, or not known here."""

    request: Request
    locale: str
    reader: Principal | None

    @property
    def text(self) -> Speaker:
        """The pages' own texts."""
        return Speaker(page_texts(), self.locale)

    @property
    def language(self) -> str:
        return HTML_LANGUAGES[self.locale]

    @property
    def path(self) -> str:
        return self.request.url.path

    @property
    def here(self) -> str:
        return here(self.request)

    def render(
        self, template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **context: Any
    ) -> HTMLResponse:
        """The answer: a template with ``page``, ``t`` for the pages' texts, and what the route adds."""
        html = environment().get_template(template).render(page=self, t=self.text, **context)
        return HTMLResponse(html, status, headers={**(headers or {}), **HEADERS})


def page_of(request: Request, reader: Principal | None) -> Page:
    """The page of a request; a problem that comes later knows the reader from here."""
    request.state.reader = reader
    return Page(request, locale_of(request), reader)


def open_page(request: Request, caller: MaybeCaller) -> Page:
    return page_of(request, caller)


def require_reader(page: Annotated[Page, Depends(open_page)]) -> Principal:
    """Who reads. Raises SignInNeeded."""
    if page.reader is None:
        raise SignInNeeded(page.here)
    return page.reader


AnyPage = Annotated[Page, Depends(open_page)]
Reader = Annotated[Principal, Depends(require_reader)]
