"""Submitting, reading, listing and cancelling over REST."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from app.gradings import service as gradings
from app.gradings.service import Claim
from app.store.columns import utc_now
from app.store.models import Grading, IdempotencyKey, Submission
from graders.limits import SOURCE_BYTES
from graders.verdict import State, Visibility
from tests import builders
from tests.api.conftest import resources_of

SignUp = Callable[..., dict[str, str]]
ORDER = {"drill": "toy", "source": builders.SOURCE}
PATH = "/api/v1/submissions"


def claim_of(client: TestClient, submission_id: str) -> Claim:
    with resources_of(client).store.transaction() as session:
        grading_id = session.scalars(select(Grading.id).where(Grading.submission_id == submission_id)).one()
        claim = gradings.claim(session, grading_id, worker_id="w", lease_s=30)
    assert claim is not None
    return claim


def count(client: TestClient) -> int:
    with resources_of(client).store.reading() as session:
        return session.scalars(select(func.count()).select_from(Submission)).one()


def test_a_submission_is_accepted_and_queued(local: TestClient) -> None:
    answer = local.post(PATH, json=ORDER)
    body = answer.json()
    assert answer.status_code == 202
    assert (body["state"], body["queue_position"]) == ("queued", 1)
    assert answer.headers["Location"] == body["links"]["self"] == f"{PATH}/{body['id']}"
    read = local.get(answer.headers["Location"])
    assert read.headers["Retry-After"] == "1"
    known = {"state": "queued", "verdict": None, "attempt": 1, "drill": "toy", "drill_version": 1, "user": "local"}
    assert known.items() <= read.json().items()
    assert read.json()["created_at"].endswith("Z")
    assert local.post(PATH, json=ORDER).json()["queue_position"] == 2


def test_a_client_can_tell_that_what_it_sent_is_what_is_judged(local: TestClient) -> None:
    sent = "x = '核'\r\n".encode()
    answers = (
        local.post(PATH, json={"drill": "toy", "source": sent.decode()}),
        local.post(PATH, data={"drill": "toy"}, files={"file": ("k.py", b"\xef\xbb\xbf" + sent)}),
    )
    for answer in answers:
        read = local.get(answer.headers["Location"]).json()
        assert read["source_sha"] == hashlib.sha256(sent).hexdigest()


def test_a_file_is_as_good_as_json(local: TestClient) -> None:
    answer = local.post(PATH, data={"drill": "toy"}, files={"file": ("k.py", "\ufeffx = '核'\n".encode())})
    assert answer.status_code == 202
    with resources_of(local).store.reading() as session:
        assert session.get_one(Submission, answer.json()["id"]).source == "x = '核'\n"
    assert local.post(PATH, data=ORDER, files={"unused": b""}).status_code == 422


@pytest.mark.parametrize(
    ("source", "status", "problem"),
    [
        ("a" * SOURCE_BYTES, 202, None),
        ("a" * (SOURCE_BYTES + 1), 413, "source-too-large"),
        ("核" * (SOURCE_BYTES // 3 + 1), 413, "source-too-large"),
        ("", 422, "source-empty"),
        (" \n\t\r\n", 422, "source-empty"),
        ("x\0y", 422, "source-not-text"),
    ],
)
def test_the_source_has_its_limits(local: TestClient, source: str, status: int, problem: str | None) -> None:
    answers = (
        local.post(PATH, json={"drill": "toy", "source": source}),
        local.post(PATH, data={"drill": "toy"}, files={"file": ("k.py", source.encode())}),
    )
    for answer in answers:
        assert answer.status_code == status
        assert answer.json().get("type") == (f"/problems/{problem}" if problem else None)
    assert count(local) == (2 if problem is None else 0)


def test_a_source_that_is_not_utf8_is_refused(local: TestClient) -> None:
    answer = local.post(PATH, data={"drill": "toy"}, files={"file": ("k.py", b"\xff\xfe")})
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/source-not-text")
    headers = {"Content-Type": "application/json"}
    for body in (b'{"drill": "toy", "source": "\xff"}', b'{"drill": "toy", "source": "\\ud800"}'):
        assert local.post(PATH, content=body, headers=headers).status_code == 400


def test_a_body_over_512_kib_is_refused_early(local: TestClient) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(9):
            yield b" " * 65536

    for content in (b" " * (512 * 1024 + 1), chunks()):
        answer = local.post(PATH, content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["type"]) == (413, "/problems/body-too-large")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"drill": "toy"}, "source"),
        ({"source": "x"}, "drill"),
        ({"drill": "toy", "source": 5}, "source"),
        ({**ORDER, "drill": "a\0b"}, "drill"),
        ({**ORDER, "drill": "a" * 65}, "drill"),
        ({**ORDER, "sourc": "x"}, "sourc"),
    ],
)
def test_what_is_wrong_is_said_field_by_field(local: TestClient, body: dict[str, object], field: str) -> None:
    answer = local.post(PATH, json=body)
    assert (answer.status_code, answer.headers["Content-Type"]) == (422, "application/problem+json")
    assert answer.json()["type"] == "/problems/invalid-request"
    assert field in [error["field"] for error in answer.json()["errors"]]


@pytest.mark.parametrize("path", [PATH, "/api/v1/tokens"])
@pytest.mark.parametrize("unknown", [[f"k{number}" for number in range(20_000)], ["k" * 300_000]], ids=["many", "long"])
def test_an_answer_to_a_wrong_request_is_short(local: TestClient, path: str, unknown: list[str]) -> None:
    answer = local.post(path, json=dict.fromkeys(unknown, 0))
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-request")
    assert len(answer.content) < 10_000
    assert len(unknown) == 1 or re.search(r"; 19\d+ more$", answer.json()["detail"])


@pytest.mark.parametrize("path", [PATH, "/api/v1/tokens"])
@pytest.mark.parametrize("body", [b"{", b'{"name": "\xff"}', b"[" * 100_000], ids=["open", "latin", "deep"])
def test_a_body_that_is_no_json_is_a_bad_request_wherever_it_is_sent(local: TestClient, path: str, body: bytes) -> None:
    answer = local.post(path, content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/bad-request")


def test_other_bodies_are_refused(local: TestClient) -> None:
    assert local.post(PATH, content=b"x", headers={"Content-Type": "text/plain"}).status_code == 415
    assert local.post(PATH, content=b"{}").status_code == 415
    malformed = {"Content-Type": "multipart/form-data"}
    assert local.post(PATH, content=b"x", headers=malformed).status_code == 400


@pytest.mark.parametrize(("charset", "status"), [("UTF-8", 202), ('"utf8"', 202), ("punycode", 415), ("latin-1", 415)])
def test_the_sender_of_a_form_does_not_choose_the_codec(local: TestClient, charset: str, status: int) -> None:
    fields = {"drill": "toy", "source": "x = 1"}
    body = "".join(f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{fields[name]}\r\n' for name in fields)
    headers = {"Content-Type": f"multipart/form-data; boundary=b; charset={charset}"}
    answers = [local.post(path, content=f"{body}--b--\r\n", headers=headers) for path in (PATH, "/login")]
    assert answers[0].status_code == status
    assert (answers[1].status_code == 415) is (status == 415)


def test_an_unknown_drill_is_not_found(local: TestClient) -> None:
    answer = local.post(PATH, json={"drill": "nope", "source": "x"})
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/unknown-drill")


def test_students_have_a_quota(server: TestClient, sign_up: SignUp) -> None:
    ada = sign_up("ada")
    for _ in range(3):
        assert server.post(PATH, json=ORDER, headers=ada).status_code == 202
    answer = server.post(PATH, json=ORDER, headers=ada)
    assert (answer.status_code, answer.json()["type"]) == (429, "/problems/too-many-submissions")
    assert 3590 <= int(answer.headers["Retry-After"]) <= 3600
    assert server.post(PATH, json=ORDER, headers=sign_up("eve")).status_code == 202
    with resources_of(server).store.transaction() as session:
        session.execute(update(Submission).values(created_at=utc_now() - timedelta(hours=1, seconds=1)))
    assert server.post(PATH, json=ORDER, headers=ada).status_code == 202


def test_our_faults_and_staff_have_no_quota(server: TestClient, sign_up: SignUp) -> None:
    ada = sign_up("ada")
    for _ in range(3):
        submission_id = server.post(PATH, json=ORDER, headers=ada).json()["id"]
    with resources_of(server).store.transaction() as session:
        session.execute(update(Submission).where(Submission.id == submission_id).values(charged=False))
    again = server.post(PATH, json=ORDER, headers=ada)
    assert again.status_code == 202
    assert server.get(again.headers["Location"], headers=ada).json()["attempt"] == 3
    staff = sign_up("ines", builders.Role.INSTRUCTOR)
    assert {server.post(PATH, json=ORDER, headers=staff).status_code for _ in range(5)} == {202}


def test_what_ends_through_our_fault_is_no_way_around_the_quota(server: TestClient, sign_up: SignUp) -> None:
    ada = sign_up("ada")
    for _ in range(3):
        assert server.post(PATH, json=ORDER, headers=ada).status_code == 202
        with resources_of(server).store.transaction() as session:
            session.execute(update(Submission).values(charged=False))
    assert server.post(PATH, json=ORDER, headers=ada).status_code == 429


def test_what_is_cancelled_before_it_began_costs_nothing(server: TestClient, sign_up: SignUp) -> None:
    ada = sign_up("ada")
    for _ in range(3):
        last = server.post(PATH, json=ORDER, headers=ada).json()
    assert server.post(f"{PATH}/{last['id']}/cancel", headers=ada).json()["state"] == "cancelled"
    again = server.post(PATH, json=ORDER, headers=ada)
    assert again.status_code == 202
    listed = server.get(PATH, headers=ada).json()["items"]
    assert [(item["attempt"], item["charged"]) for item in listed] == [(3, True), (3, False), (2, True), (1, True)]
    assert server.get(again.headers["Location"], headers=ada).json()["charged"]


def test_cancelling_is_no_way_around_the_quota(server: TestClient, sign_up: SignUp) -> None:
    ada = sign_up("ada")
    for _ in range(3):
        made = server.post(PATH, json=ORDER, headers=ada).json()
        server.post(f"{PATH}/{made['id']}/cancel", headers=ada)
    assert server.post(PATH, json=ORDER, headers=ada).status_code == 429


def test_a_repeated_key_is_one_submission(local: TestClient) -> None:
    key = {"Idempotency-Key": "abc"}
    first = local.post(PATH, json=ORDER, headers=key)
    as_file = {"data": {"drill": "toy"}, "files": {"file": ("k.py", builders.SOURCE.encode())}}
    for again in (local.post(PATH, json=ORDER, headers=key), local.post(PATH, headers=key, **as_file)):
        assert (again.status_code, again.json()) == (202, first.json())
        assert again.headers["Location"] == first.headers["Location"]
        assert again.headers["Idempotency-Replayed"] == "true"
    assert count(local) == 1


def test_a_key_used_with_another_body_is_refused(local: TestClient) -> None:
    key = {"Idempotency-Key": "abc"}
    local.post(PATH, json=ORDER, headers=key)
    answer = local.post(PATH, json={**ORDER, "source": "y = 1"}, headers=key)
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/idempotency-mismatch")
    assert local.post(PATH, json=ORDER, headers={"Idempotency-Key": "x" * 256}).status_code == 422


def test_a_key_in_flight_is_a_conflict_until_it_is_abandoned(local: TestClient) -> None:
    key = {"Idempotency-Key": "abc"}
    local.post(PATH, json=ORDER, headers=key)
    store = resources_of(local).store
    with store.transaction() as session:
        session.execute(update(IdempotencyKey).values(submission_id=None))
    answer = local.post(PATH, json=ORDER, headers=key)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/request-in-flight")
    assert answer.headers["Retry-After"] == "1"
    with store.transaction() as session:
        session.execute(update(IdempotencyKey).values(created_at=utc_now() - timedelta(minutes=2)))
    assert local.post(PATH, json=ORDER, headers=key).status_code == 202
    assert count(local) == 2


def test_a_refused_request_frees_its_key(local: TestClient) -> None:
    key = {"Idempotency-Key": "abc"}
    assert local.post(PATH, json={**ORDER, "drill": "nope"}, headers=key).status_code == 404
    assert local.post(PATH, json=ORDER, headers=key).status_code == 202


def test_keys_of_two_users_are_two_keys(server: TestClient, sign_up: SignUp) -> None:
    key = {"Idempotency-Key": "abc"}
    for name in ("ada", "eve"):
        server.post(PATH, json=ORDER, headers=sign_up(name) | key)
    assert count(server) == 2


def test_a_running_submission_shows_what_is_known(local: TestClient) -> None:
    submission_id = local.post(PATH, json=ORDER).json()["id"]
    claim = claim_of(local, submission_id)
    with resources_of(local).store.transaction() as session:
        gradings.record_state(session, claim, State.TESTING)
        gradings.record_case(session, claim, builders.passed_case())
    answer = local.get(f"{PATH}/{submission_id}")
    body = answer.json()
    assert (body["state"], body["queue_position"], body["verdict"]) == ("testing", None, None)
    assert [case["name"] for case in body["cases"]] == ["case_1"]
    assert body["timeline"]["started_at"].endswith("Z")
    assert answer.headers["Retry-After"] == "1"


def test_a_finished_submission_is_the_report_filtered_by_who_asks(server: TestClient, sign_up: SignUp) -> None:
    ada, staff = sign_up("ada"), sign_up("ines", builders.Role.INSTRUCTOR)
    submission_id = server.post(PATH, json=ORDER, headers=ada).json()["id"]
    claim = claim_of(server, submission_id)
    cases = [builders.passed_case(1), builders.failed_case(2), builders.passed_case(3, Visibility.HIDDEN)]
    report = builders.report(cases, verdict=builders.Verdict.WRONG_ANSWER, score=20)
    with resources_of(server).store.transaction() as session:
        assert gradings.finish(session, claim, report)
    answer = server.get(f"{PATH}/{submission_id}", headers=ada)
    body = answer.json()
    assert "Retry-After" not in answer.headers
    assert (body["state"], body["verdict"], body["score"], body["max_score"]) == ("done", "wrong_answer", 20, 60)
    assert body["hidden_cases"] == {"passed": 1, "judged": 2}
    assert body["cases"][0]["stdout"] == "printed"
    hidden = body["cases"][1]
    assert (hidden["name"], hidden["status"], hidden["stdout"]) == ("edges_2", "failed", None)
    assert "0.2578125" not in answer.text
    assert body["performance"]["status"] == "not_measured"
    assert body["environment"]["sandbox"] == "A"
    full = server.get(f"{PATH}/{submission_id}", headers=staff).json()
    assert full["cases"][1]["cause"]["params"] == {"secret": "0.2578125"}
    assert full["staff"]["gradings"][0]["current"]


def test_a_queued_submission_is_cancelled_at_once(local: TestClient) -> None:
    submission_id = local.post(PATH, json=ORDER).json()["id"]
    for _ in range(2):
        answer = local.post(f"{PATH}/{submission_id}/cancel")
        assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
    with resources_of(local).store.transaction() as session:
        grading_id = session.scalars(select(Grading.id)).one()
        assert gradings.claim(session, grading_id, worker_id="w", lease_s=30) is None
    body = local.get(f"{PATH}/{submission_id}").json()
    assert (body["state"], body["verdict"], body["cancel_requested"]) == ("cancelled", None, True)


def test_a_running_submission_is_asked_to_stop_and_a_finished_one_cannot(local: TestClient) -> None:
    submission_id = local.post(PATH, json=ORDER).json()["id"]
    claim = claim_of(local, submission_id)
    answer = local.post(f"{PATH}/{submission_id}/cancel")
    assert (answer.status_code, answer.json()["state"]) == (202, "compiling")
    store = resources_of(local).store
    with store.transaction() as session:
        assert gradings.renew(session, claim, lease_s=30).cancel_requested
        assert gradings.finish(session, claim, builders.report())
    answer = local.post(f"{PATH}/{submission_id}/cancel")
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/already-finished")


def test_a_list_is_paged_and_filtered(local: TestClient) -> None:
    with resources_of(local).store.transaction() as session:
        builders.add_drill(session, builders.toy_package("other"))
        ada = builders.add_user(session, "ada")
        builders.add_submission(session, ada, "other")
    ids = [local.post(PATH, json=ORDER).json()["id"] for _ in range(5)]
    seen: list[str] = []
    path: str | None = f"{PATH}?limit=2&drill=toy&user=local"
    while path:
        answer = local.get(path)
        seen += [item["id"] for item in answer.json()["items"]]
        path = answer.json()["next"]
        assert ("Link" in answer.headers) == (path is not None)
    assert seen == ids[::-1]
    assert [item["user"] for item in local.get(f"{PATH}?drill=other").json()["items"]] == ["ada"]
    assert [item["drill"] for item in local.get(f"{PATH}?user={ada.user_id}").json()["items"]] == ["other"]
    for query in ("limit=0", "cursor=nonsense", "cursor=" + "f" * 36):
        assert local.get(f"{PATH}?{query}").status_code == 422
