"""A drill from its upload to its retirement, over REST."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import select

from app.access.principals import Role
from app.drills import versions
from app.settings import Settings
from app.store.models import DrillVersion
from graders.package import built_in_drills
from graders.report import Message
from graders.validation import Finding, FindingCode, ValidationReport
from tests.api.conftest import resources_of
from tests.api.live import Follower, Live
from tests.broker import running_broker
from tests.processes import wait_until
from tests.uploads import form, toy_upload
from tests.validated import PlayedValidation, validation_report

SignUp = Callable[..., dict[str, str]]
Headers = dict[str, str]

VERSIONS = "/api/v1/drills/copy/versions"
NOT_CAUGHT = Finding.of(
    FindingCode.NOT_CAUGHT,
    file="graders/copy/submissions/wrong_answer/zeros.py",
    line=1,
    submission="wrong_answer/zeros",
    expected="wrong_answer",
    claims="basic",
)
SLOW = Finding.of(
    FindingCode.CASE_SLOW, case="basic/one", submission="reference/copy", duration_ms=9000.0, limit_ms=15000.0
)


@pytest.fixture
def ines(sign_up: SignUp) -> Headers:
    return sign_up("ines", Role.INSTRUCTOR)


def upload(client: TestClient, headers: Headers, **changes: Any) -> Response:
    return client.post("/api/v1/drills", files=form(toy_upload(**changes).to_zip()), headers=headers)


def validate(client: TestClient, number: int = 1, report: ValidationReport | None = None) -> None:
    """Play the worker that validates a version."""
    store = resources_of(client).store
    with store.reading() as session:
        version_id = session.scalars(select(DrillVersion.id).where(DrillVersion.number == number, _of_copy())).one()
    PlayedValidation(store, version_id).finish(report or validation_report())


def _of_copy() -> Any:
    return DrillVersion.drill.has(slug="copy")


def test_from_upload_to_students(server: TestClient, ines: Headers, sign_up: SignUp) -> None:
    answer = upload(server, ines)
    assert (answer.status_code, answer.headers["Location"]) == (202, f"{VERSIONS}/1")
    body = answer.json()
    assert (body["slug"], body["version"], body["state"], body["owner"]) == ("copy", 1, "validating", "ines")
    assert (body["validation"]["state"], body["current"], body["last_event"]) == ("queued", False, 1)
    assert body["validation"]["progress"] == {"stage": None, "done": 0, "total": 0}
    assert body["digest"] == toy_upload().digest
    waiting = server.get(f"{VERSIONS}/1", headers=ines)
    assert waiting.headers["Retry-After"] == "2"
    early = server.post(f"{VERSIONS}/1/publish", headers=ines)
    assert (early.status_code, early.json()["type"]) == (409, "/problems/wrong-version-state")

    validate(server)
    valid = server.get(f"{VERSIONS}/1", headers=ines)
    assert (valid.json()["state"], "Retry-After" in valid.headers) == ("valid", False)
    ada = sign_up("ada")
    assert server.get("/api/v1/drills/copy", headers=ada).status_code == 404
    published = server.post(f"{VERSIONS}/1/publish", headers=ines).json()
    assert (published["state"], published["current"]) == ("published", True)
    assert published["published_at"] is not None
    assert server.get("/api/v1/drills/copy", headers=ada).json()["version"] == 1

    retired = server.post(f"{VERSIONS}/1/retire", headers=ines).json()
    assert (retired["state"], retired["current"]) == ("retired", False)
    assert retired["retired_at"] is not None
    assert server.get("/api/v1/drills/copy", headers=ada).status_code == 404
    assert server.post(f"{VERSIONS}/1/retire", headers=ines).status_code == 409


def test_the_report_is_told_in_both_languages(server: TestClient, ines: Headers) -> None:
    upload(server, ines)
    validate(server, report=validation_report(NOT_CAUGHT, SLOW))
    body = server.get(f"{VERSIONS}/1", headers=ines).json()
    assert body["state"] == "invalid"
    validation = body["validation"]
    assert validation["progress"] is None
    assert (validation["state"], validation["complete"], validation["lane"]) == ("done", True, "interpreter")
    error, warning = validation["findings"]
    assert (error["code"], error["severity"], warning["severity"]) == ("not_caught", "error", "warning")
    assert error["place"] == "graders/copy/submissions/wrong_answer/zeros.py:1"
    assert "wrong_answer/zeros is accepted" in error["text"]["en"]
    assert "wrong_answer/zeros" in error["text"]["zh"]
    assert error["cure"]["en"] != error["cure"]["zh"]
    assert [case["caught_by"] for case in validation["cases"]] == [["wrong_answer/zeros"], []]
    assert validation["submissions"][1]["got"] == "wrong_answer"
    assert validation["costs"][0]["slowest_case"] == "basic/one"
    assert server.post(f"{VERSIONS}/1/publish", headers=ines).status_code == 409


def test_a_finding_may_speak_with_the_drills_own_sentences(server: TestClient, ines: Headers) -> None:
    upload(server, ines)
    refused = Finding.of(FindingCode.REFERENCE_REFUSED, verdict="wrong_answer", cause=Message(key="hint.copy"))
    validate(server, report=validation_report(refused))
    (finding,) = server.get(f"{VERSIONS}/1", headers=ines).json()["validation"]["findings"]
    assert "Copy all of it." in finding["text"]["en"]
    assert "全部复制。" in finding["text"]["zh"]


def test_what_could_not_be_validated_through_our_fault_is_validated_again(server: TestClient, ines: Headers) -> None:
    version_id = _version_id(server, upload(server, ines))
    PlayedValidation(resources_of(server).store, version_id).give_back(max_attempts=1)
    body = server.get(f"{VERSIONS}/1", headers=ines).json()
    assert (body["state"], body["validation"]["complete"]) == ("invalid", None)
    assert body["validation"]["faults"][0]["reason"] == "the <judge> died"
    again = server.post(f"{VERSIONS}/1/validate", headers=ines)
    assert (again.status_code, again.json()["state"], again.json()["validation"]["state"]) == (
        202,
        "validating",
        "queued",
    )
    assert server.post(f"{VERSIONS}/1/validate", headers=ines).status_code == 409
    validate(server)
    assert server.get(f"{VERSIONS}/1", headers=ines).json()["state"] == "valid"


def _version_id(client: TestClient, answer: Response) -> str:
    with resources_of(client).store.reading() as session:
        found = select(DrillVersion.id).where(DrillVersion.number == answer.json()["version"], _of_copy())
        return session.scalars(found).one()


def test_the_same_tree_is_the_same_version(server: TestClient, ines: Headers) -> None:
    upload(server, ines)
    validate(server)
    again = upload(server, ines)
    assert (again.status_code, again.json()["version"], again.json()["state"]) == (202, 1, "valid")
    assert upload(server, ines, changed={"statement.en.md": "Copy. Basics, edges."}).json()["version"] == 2
    listed = server.get(VERSIONS, headers=ines).json()["items"]
    assert [(item["version"], item["state"]) for item in listed] == [(2, "validating"), (1, "valid")]


def test_a_slug_belongs_to_whoever_came_first(server: TestClient, ines: Headers, sign_up: SignUp) -> None:
    upload(server, ines)
    eve = sign_up("eve", Role.INSTRUCTOR)
    taken = upload(server, eve, changed={"statement.en.md": "Mine. Basics, edges."})
    assert (taken.status_code, taken.json()["type"]) == (409, "/problems/slug-taken")
    validate(server)
    for action in ("publish", "retire", "validate"):
        refused = server.post(f"{VERSIONS}/1/{action}", headers=eve)
        assert (refused.status_code, refused.json()["type"]) == (403, "/problems/forbidden")
    assert server.get(f"{VERSIONS}/1", headers=eve).status_code == 200
    root = sign_up("root", Role.ADMIN)
    second = upload(server, root, changed={"statement.en.md": "Better. Basics, edges."}).json()
    assert (second["version"], second["owner"]) == (2, "ines")
    assert server.post(f"{VERSIONS}/1/publish", headers=root).status_code == 200


def test_nobody_uploads_over_what_comes_with_warpgrade(server: TestClient, sign_up: SignUp) -> None:
    slug = built_in_drills()[0]
    for headers in (sign_up("ines", Role.INSTRUCTOR), sign_up("root", Role.ADMIN)):
        assert upload(server, headers, slug=slug).json()["type"] == "/problems/slug-taken"
    version = server.get(f"/api/v1/drills/{slug}/versions/1", headers=headers).json()
    assert (version["owner"], version["validation"], version["state"]) == (None, None, "published")


def test_what_changed_between_two_versions(server: TestClient, ines: Headers) -> None:
    upload(server, ines, changed={"notes.txt": "x", "submissions/accepted/b.py": "# expect: accepted\n"})
    upload(
        server,
        ines,
        changed={"statement.en.md": "Copy it.\nBasics, edges.", "cases.py": "CASES = (1,)\n", "more.txt": "y"},
    )
    changes = server.get(f"{VERSIONS}/1/diff/2", headers=ines).json()
    folder = "graders/copy"
    assert changes["added"] == [f"{folder}/more.txt"]
    assert changes["removed"] == [f"{folder}/notes.txt", f"{folder}/submissions/accepted/b.py"]
    assert changes["changed"] == [f"{folder}/cases.py", f"{folder}/statement.en.md"]
    (text,) = changes["texts"]
    assert text["file"] == f"{folder}/statement.en.md"
    assert "\n+Copy it.\n+Basics, edges." in text["diff"]
    back = server.get(f"{VERSIONS}/2/diff/1", headers=ines).json()
    assert back["removed"] == changes["added"]
    same = server.get(f"{VERSIONS}/1/diff/1", headers=ines).json()
    assert (same["added"], same["removed"], same["changed"]) == ([], [], [])


def test_what_is_not_there_is_not_found(server: TestClient, ines: Headers) -> None:
    upload(server, ines)
    for path, slug in (
        ("/api/v1/drills/nope/versions", "unknown-drill"),
        (f"{VERSIONS}/2", "unknown-version"),
        (f"{VERSIONS}/2/events", "unknown-version"),
        (f"{VERSIONS}/1/diff/2", "unknown-version"),
        (f"{VERSIONS}/0", "invalid-request"),
        (f"{VERSIONS}/99999999999999999999", "invalid-request"),
        (f"{VERSIONS}/one", "invalid-request"),
    ):
        assert server.get(path, headers=ines).json()["type"] == f"/problems/{slug}", path


def test_a_submission_is_graded_with_the_version_it_was_made_for(server: TestClient, ines: Headers) -> None:
    upload(server, ines)
    validate(server)
    server.post(f"{VERSIONS}/1/publish", headers=ines)
    made = server.post("/api/v1/submissions", json={"drill": "copy", "source": "x = 1"}, headers=ines).json()
    upload(server, ines, changed={"statement.en.md": "Copy. Basics, edges."})
    validate(server, 2)
    server.post(f"{VERSIONS}/2/publish", headers=ines)
    server.post(f"{VERSIONS}/1/retire", headers=ines)
    assert server.get(made["links"]["self"], headers=ines).json()["drill_version"] == 1


@pytest.fixture
def live(settings: Settings) -> Iterator[Live]:
    with Live(settings) as made:
        yield made


def _uploaded(live: Live) -> tuple[str, str]:
    """The address of a version's events, and its id."""
    with live.store.transaction() as session:
        version = versions.upload(session, live.instructor, toy_upload()).version
    return f"{live.url}{VERSIONS}/1/events", version.id


def test_a_validation_is_followed_live_and_resumed(live: Live, settings: Settings) -> None:
    url, version_id = _uploaded(live)
    with running_broker(settings) as client:
        follower = Follower(url, live.staff)
        follower.wait_for(1)
        wait_until(lambda: client.pubsub_numsub("warpgrade.events")[0][1] == 1, "the server subscribes")
        played = PlayedValidation(live.store, version_id, live.resources.wakeups)
        played.stage("submissions")
        follower.wait_for(3)
        played.graded("wrong_answer/zeros", "wrong_answer", 1, 2)
        played.finish(validation_report())
        follower.wait_for_end()
    assert follower.told == [(1, "state"), (2, "state"), (3, "stage"), (4, "submission"), (5, "done")]
    assert (
        follower.events[3].data
        == '{"submission": "wrong_answer/zeros", "verdict": "wrong_answer", "done": 1, "total": 2}'
    )
    for headers, query, first in (({}, "", 1), ({"Last-Event-ID": "3"}, "", 4), ({}, "?after=4", 5)):
        resumed = Follower(url + query, live.staff | headers)
        resumed.wait_for_end()
        assert [number for number, _ in resumed.told] == list(range(first, 6))


def test_no_student_follows_a_validation(live: Live) -> None:
    url, _ = _uploaded(live)
    assert httpx.get(url, headers=live.ada).status_code == 403
