"""Who may do what: every route of the OpenAPI document, for everybody there is, beside a written table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.access.principals import Role
from app.access.service import issue_token
from app.drills import service as drills
from app.drills import versions
from app.gradings import service as gradings
from app.store.models import DrillVersion, Grading
from app.submissions.service import Submitted
from graders.verdict import Verdict, Visibility
from tests import builders
from tests.api.conftest import resources_of
from tests.uploads import form, toy_upload
from tests.validated import PlayedValidation, validation_report

CALLERS = ("nobody", "student", "instructor", "owner", "admin")
"""``owner`` is the instructor whose drill it is, ``instructor`` another one."""

Row = tuple[int, int, int, int, int]

ANYBODY: Row = (200, 200, 200, 200, 200)
SIGNED_IN: Row = (401, 200, 200, 200, 200)
STAFF: Row = (401, 403, 200, 200, 200)
OWNER: Row = (401, 403, 403, 200, 200)
NOT_OTHER_STUDENTS: Row = (401, 404, 200, 200, 200)

VERSIONS = "/api/v1/drills/{slug}/versions"
RIGHTS: dict[str, Row] = {
    "GET /health": ANYBODY,
    "GET /metrics": ANYBODY,
    "GET /ready": (503, 503, 503, 503, 503),  # the tests have no broker
    "GET /api/v1/me": SIGNED_IN,
    "GET /api/v1/tokens": SIGNED_IN,
    "POST /api/v1/tokens": (401, 201, 201, 201, 201),
    "DELETE /api/v1/tokens/{token_id}": (401, 404, 404, 404, 204),  # somebody else's
    "POST /api/v1/users": (401, 403, 403, 403, 201),
    "GET /api/v1/drills": SIGNED_IN,
    "GET /api/v1/drills/{slug}": SIGNED_IN,
    "POST /api/v1/drills": (401, 403, 202, 202, 202),
    f"GET {VERSIONS}": STAFF,
    f"GET {VERSIONS}/{{version}}": STAFF,
    f"GET {VERSIONS}/{{version}}/events": STAFF,
    f"GET {VERSIONS}/{{version}}/diff/{{other}}": STAFF,
    f"POST {VERSIONS}/{{version}}/publish": OWNER,
    f"POST {VERSIONS}/{{version}}/retire": OWNER,
    f"POST {VERSIONS}/{{version}}/validate": (401, 403, 403, 202, 202),
    "POST /api/v1/submissions": (401, 202, 202, 202, 202),
    "GET /api/v1/submissions": SIGNED_IN,
    "GET /api/v1/submissions/{submission_id}": NOT_OTHER_STUDENTS,
    "GET /api/v1/submissions/{submission_id}/events": NOT_OTHER_STUDENTS,
    "POST /api/v1/submissions/{submission_id}/cancel": (401, 404, 202, 202, 202),
}

FOR_OTHERS: dict[str, Row] = {
    "GET /api/v1/tokens": (401, 403, 403, 403, 200),
    "POST /api/v1/tokens": (401, 403, 403, 403, 201),
}
"""The same routes, where the request names another user."""

ONLY_STAFF_MAY_SEE = {
    "a hidden test": "SECRET_OF_THE_CASES",
    "the reference": "SECRET_OF_THE_REFERENCE",
    "a known mistake": "SECRET_OF_THE_CORPUS",
    "an expected value": "0.2578125",
    "another's source": "SECRET_OF_BOB",
    "a name among the hidden tests": "basic/one",
}
PACKAGE = {
    "cases.py": "SECRET_OF_THE_CASES = 1\nCASES = ()\n",
    "reference": "SECRET_OF_THE_REFERENCE = 1\n",
    "submissions/wrong_answer/secret.py": "# expect: wrong_answer\nSECRET_OF_THE_CORPUS = 1\n",
}


class House:
    """A server with a published, a valid and an invalid version of ines' drill, and two submissions of bob's."""

    def __init__(self, client: TestClient, sign_up: Callable[..., dict[str, str]]) -> None:
        self.client = client
        self.headers = {
            "nobody": {},
            "student": sign_up("ada"),
            "instructor": sign_up("eve", Role.INSTRUCTOR),
            "owner": sign_up("ines", Role.INSTRUCTOR),
            "admin": sign_up("root", Role.ADMIN),
        }
        self.store = resources_of(client).store
        self._upload(1, publish=True)
        self._upload(2)
        self._upload(3, complete=False)
        with self.store.transaction() as session:
            bob = builders.add_user(session, "bob")
            self.token_id = issue_token(session, bob.user_id, "bob's")[0].id
            done = builders.add_submission(session, bob, source="SECRET_OF_BOB = 1\n")
            self.queued = builders.add_submission(session, bob, source="SECRET_OF_BOB = 2\n")
            self.seed = session.get_one(Grading, done.grading_id).seed
        self.done = self.judge(done)

    def _upload(self, number: int, *, publish: bool = False, complete: bool = True) -> None:
        text = f"Number {number} copies. Basics, edges."
        data = toy_upload(changed={**PACKAGE, "statement.en.md": text}).to_zip()
        answer = self.client.post("/api/v1/drills", files=form(data), headers=self.headers["owner"])
        assert answer.json()["version"] == number, answer.text
        with self.store.reading() as session:
            of_copy = (DrillVersion.number == number, DrillVersion.drill.has(slug="copy"))
            version_id = session.query(DrillVersion.id).where(*of_copy).scalar()
        PlayedValidation(self.store, version_id).finish(validation_report(complete=complete))
        if publish:
            self.client.post(f"/api/v1/drills/copy/versions/{number}/publish", headers=self.headers["owner"])

    def judge(self, submitted: Submitted) -> Submitted:
        cases = [builders.passed_case(1), builders.failed_case(2, Visibility.HIDDEN)]
        with self.store.transaction() as session:
            claim = gradings.claim(session, submitted.grading_id, worker_id="w", lease_s=30)
            assert claim is not None
            for case in cases:
                gradings.record_case(session, claim, case)
            gradings.finish(session, claim, builders.report(cases, verdict=Verdict.WRONG_ANSWER))
        return submitted

    def request_for_another(self, caller: str, route: str) -> Any:
        method, path = route.split(" ")
        body = {"json": {"name": "new", "user": "bob"}} if method == "POST" else {"params": {"user": "bob"}}
        return self.client.request(method, path, headers=self.headers[caller], **body)

    def request(self, caller: str, route: str) -> Any:
        method, template = route.split(" ")
        number = {"publish": 2, "validate": 3}.get(template.rpartition("/")[2], 1)
        submission = self.queued if template.endswith("cancel") else self.done
        path = template.format(
            slug="copy", version=number, other=2, submission_id=submission.submission_id, token_id=self.token_id
        )
        return self.client.request(method, path, headers=self.headers[caller], **_body(route, caller))


def _body(route: str, caller: str) -> dict[str, Any]:
    match route:
        case "POST /api/v1/drills":
            return {"files": form(toy_upload(f"of_{caller}").to_zip())}
        case "POST /api/v1/submissions":
            return {"json": {"drill": "copy", "source": "x = 1"}}
        case "POST /api/v1/users":
            return {"json": {"name": "new", "role": "student"}}
        case "POST /api/v1/tokens":
            return {"json": {"name": "new"}}
        case _:
            return {}


@pytest.fixture
def house(server: TestClient, sign_up: Callable[..., dict[str, str]]) -> House:
    return House(server, sign_up)


@pytest.mark.parametrize("caller", CALLERS)
def test_everybody_may_do_what_the_table_says(house: House, caller: str) -> None:
    allowed = {route: row[CALLERS.index(caller)] for route, row in RIGHTS.items()}
    assert {route: house.request(caller, route).status_code for route in RIGHTS} == allowed
    for_others = {route: row[CALLERS.index(caller)] for route, row in FOR_OTHERS.items()}
    assert {route: house.request_for_another(caller, route).status_code for route in FOR_OTHERS} == for_others


def test_what_the_table_says_is_documented(house: House) -> None:
    paths = house.client.get("/api/v1/openapi.json").json()["paths"]
    for route, row in [*RIGHTS.items(), *FOR_OTHERS.items()]:
        method, path = route.split(" ")
        assert {str(status) for status in row} <= paths[path][method.lower()]["responses"].keys(), route


def test_the_table_names_every_route(house: House) -> None:
    document = house.client.get("/api/v1/openapi.json").json()
    routes = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert routes == RIGHTS.keys()


def test_the_table_names_every_route_that_may_be_for_another_user(house: House) -> None:
    """All that take a ``user``, but the list of submissions: students see their own there, whoever is named."""
    document = house.client.get("/api/v1/openapi.json").json()
    schemas = document["components"]["schemas"]
    orders = {name for name, schema in schemas.items() if "user" in schema.get("properties", {})}
    routes = {
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if any(parameter["name"] == "user" for parameter in operation.get("parameters", []))
        or any(f"schemas/{name}'" in str(operation.get("requestBody")) for name in orders)
    }
    assert routes == FOR_OTHERS.keys() | {"GET /api/v1/submissions"}


def test_every_route_says_what_it_does(house: House) -> None:
    document = house.client.get("/api/v1/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["description"], f"{method} {path}"


def test_no_route_tells_a_student_what_is_not_theirs(house: House) -> None:
    for route in RIGHTS:
        told = house.request("student", route).text
        seen = [what for what, secret in ONLY_STAFF_MAY_SEE.items() if secret in told]
        assert (route, seen) == (route, [])
        assert house.seed not in told


def test_a_student_learns_of_ones_own_hidden_tests_only_that_they_failed(house: House) -> None:
    with house.store.transaction() as session:
        ada = next(user for user in session.query(builders.User) if user.name == "ada")
        principal = builders.Principal(ada.id, "ada", Role.STUDENT, builders.Via.TOKEN)
        mine = builders.add_submission(session, principal)
        seed = session.get_one(Grading, mine.grading_id).seed
    house.done = house.judge(mine)
    for suffix in ("", "/events"):
        answer = house.request("student", f"GET /api/v1/submissions/{{submission_id}}{suffix}")
        assert answer.status_code == 200
        assert "case_1" in answer.text
        assert not [secret for secret in ("0.2578125", seed) if secret in answer.text]


def test_staff_see_what_students_do_not(house: House) -> None:
    """Otherwise the tests above would prove nothing."""
    report = house.request("instructor", "GET /api/v1/submissions/{submission_id}").text
    assert "0.2578125" in report
    assert house.seed in report
    assert "basic/one" in house.request("instructor", f"GET {VERSIONS}/{{version}}").text
    with house.store.reading() as session:
        principal = builders.Principal("", "ines", Role.INSTRUCTOR, builders.Via.TOKEN)
        version = versions.find(session, principal, "copy", 1)
        assert b"SECRET_OF_THE_CASES" in drills.package_of(session, version).files["graders/copy/cases.py"]
