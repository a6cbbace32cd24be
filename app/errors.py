"""What can go wrong for a client, as RFC 9457 problems. Free of FastAPI: services raise them, REST and pages show them.

``type`` is ``/problems/<slug>`` and stable; each slug has its page there, made from ``PROBLEMS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ProblemType:
    """One kind of problem: its status, what it is called, and what the client can do."""

    slug: str
    status: int
    title: str
    help: str

    @property
    def uri(self) -> str:
        return f"/problems/{self.slug}"


@dataclass(frozen=True)
class FieldError:
    """What is wrong with one field. ``field`` is dotted; a stable ``code`` beside the sentence."""

    field: str
    code: str
    detail: str


class Problem(Exception):
    """An answer other than the one that was asked for."""

    def __init__(
        self,
        slug: str,
        detail: str,
        *,
        errors: Sequence[FieldError] = (),
        headers: dict[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.type = PROBLEMS[slug]
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = headers or {}
        self.extra = dict(extra or {})  # members of the document that this type has besides

    @property
    def status(self) -> int:
        return self.type.status

    def body(self) -> dict[str, Any]:
        """The ``application/problem+json`` document."""
        body: dict[str, Any] = {
            "type": self.type.uri,
            "title": self.type.title,
            "status": self.type.status,
            "detail": self.detail,
        }
        if self.errors:
            body["errors"] = [vars(error) for error in self.errors]
        return body | self.extra


_TYPES = (
    ProblemType("bad-request", 400, "Bad request", "The request could not be read. Check its syntax."),
    ProblemType(
        "not-signed-in",
        401,
        "Not signed in",
        "Send 'Authorization: Bearer <token>', or sign in at /login. A token that is not known (any more) is refused "
        "wherever it is sent.",
    ),
    ProblemType("forbidden", 403, "Forbidden", "Your role does not allow this. Ask an instructor."),
    ProblemType(
        "cross-origin",
        403,
        "Request from elsewhere",
        "A change without a token must come from Warpgrade's own pages: a browser shows that by Sec-Fetch-Site or "
        "Origin. Programs send 'Authorization: Bearer <token>'.",
    ),
    ProblemType("not-found", 404, "Not found", "There is nothing at this address, or nothing that you may see."),
    ProblemType("unknown-drill", 404, "Unknown drill", "GET /api/v1/drills lists the drills that are published."),
    ProblemType("unknown-version", 404, "Unknown version", "GET /api/v1/drills/{slug}/versions lists the versions."),
    ProblemType("method-not-allowed", 405, "Method not allowed", "The Allow header names the methods of this address."),
    ProblemType("name-taken", 409, "Name taken", "Choose another name."),
    ProblemType(
        "request-in-flight",
        409,
        "Request in flight",
        "A request with this Idempotency-Key is still being worked on. Repeat it a little later for its answer.",
    ),
    ProblemType("already-finished", 409, "Already finished", "A finished submission cannot be cancelled."),
    ProblemType(
        "slug-taken",
        409,
        "Slug taken",
        "A slug belongs to whoever uploaded it first. Choose another one, in drill.toml and in the names of folder and "
        "file.",
    ),
    ProblemType(
        "wrong-version-state",
        409,
        "Not in this state",
        "A version that is valid or retired can be published, a published one retired, and one that is valid or "
        "invalid validated again.",
    ),
    ProblemType(
        "body-too-large", 413, "Body too large", "JSON and form bodies may have 512 KiB, drill packages 8 MiB."
    ),
    ProblemType(
        "package-too-large", 413, "Package too large", "A zip may have 8 MiB, its files 32 MiB together; 2,000 at most."
    ),
    ProblemType("source-too-large", 413, "Source too large", "A submission may have 64 KiB."),
    ProblemType(
        "unsupported-media-type", 415, "Unsupported media type", "Send application/json or multipart/form-data."
    ),
    ProblemType(
        "wrong-host",
        421,
        "Wrong host",
        "In local mode Warpgrade answers to localhost and loopback addresses only; to serve others, start it with "
        "WARPGRADE_MODE=server. In server mode it answers to the names in WARPGRADE_HOSTS, if there are any.",
    ),
    ProblemType("invalid-request", 422, "Invalid request", "'errors' names the fields and what is wrong with them."),
    ProblemType(
        "package-refused",
        422,
        "Package refused",
        "Nothing was stored. 'findings' has what is wrong with the package, with file, line and what to do about it.",
    ),
    ProblemType("source-empty", 422, "Empty source", "Send the text of your kernel."),
    ProblemType("source-not-text", 422, "Source is not text", "Send a Python file in UTF-8, without NUL characters."),
    ProblemType(
        "idempotency-mismatch",
        422,
        "Idempotency-Key used before",
        "This key belongs to a request with another body. Use a new key for a new request.",
    ),
    ProblemType("too-many-submissions", 429, "Too many submissions", "Wait for as long as Retry-After says."),
    ProblemType(
        "too-many-streams",
        429,
        "Too many event streams",
        "Close streams that you no longer follow, or poll the submission instead: it says with Retry-After how often.",
    ),
    ProblemType(
        "database-away",
        503,
        "The database does not answer",
        "What was accepted is kept. Repeat the request after as many seconds as Retry-After says, with the same "
        "Idempotency-Key if it had one.",
    ),
    ProblemType(
        "internal-error", 500, "Internal error", "This is our fault. Tell the operator the reference in 'detail'."
    ),
)

PROBLEMS = {problem.slug: problem for problem in _TYPES}

_BY_STATUS = {
    400: "bad-request",
    401: "not-signed-in",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    413: "body-too-large",
    415: "unsupported-media-type",
}


def problem_of_status(status: int, headers: dict[str, str] | None = None) -> Problem:
    """The problem for an error that a library raised by its status alone."""
    slug = _BY_STATUS.get(status, "bad-request" if status < 500 else "internal-error")
    return Problem(slug, PROBLEMS[slug].help, headers=headers)
