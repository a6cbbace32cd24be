"""Who is let in, and as whom."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from app.access import service as access
from app.access.cookie import COOKIE
from app.access.principals import Role
from app.settings import Settings
from app.store.columns import utc_now
from app.store.models import BrowserSession, Token, User
from app.submissions.service import Submitted
from tests import builders
from tests.api.conftest import SAME_ORIGIN, resources_of, serving
from tests.databases import ON_SQLITE

SignUp = Callable[..., dict[str, str]]
ORDER = {"drill": "toy", "source": builders.SOURCE}


def test_local_mode_knows_its_user_without_a_password(local: TestClient) -> None:
    me = local.get("/api/v1/me").json()
    assert (me["name"], me["role"], me["via"]) == ("local", "admin", "local")


@ON_SQLITE
@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "localhost:8000", "[::1]:8000", "127.3.2.1"])
def test_local_mode_answers_to_loopback_hosts(local: TestClient, host: str) -> None:
    assert local.get("/api/v1/me", headers={"Host": host}).status_code == 200


@ON_SQLITE
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", "", "[::"])
def test_local_mode_refuses_other_hosts(local: TestClient, host: str) -> None:
    for path in ("/api/v1/me", "/health", "/problems/not-found"):
        answer = local.get(path, headers={"Host": host})
        assert answer.status_code == 421
        assert answer.json()["type"] == "/problems/wrong-host"


@ON_SQLITE
def test_server_mode_answers_to_the_hosts_it_is_told(server_settings: Settings) -> None:
    def status(settings: Settings, host: str) -> int:
        with serving(settings) as client:
            return client.get("/ready", headers={"Host": host}).status_code

    named = server_settings.model_copy(update={"hosts": ("Grade.School.Example",)})
    answers = {host: status(named, host) for host in ("grade.school.example", "grade.school.example:8443", "localhost")}
    assert 421 not in answers.values()
    assert status(named, "other.example") == status(named, "") == 421
    assert status(server_settings, "other.example") != 421


@ON_SQLITE
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 202),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:8000"}, 403),
        ({"Origin": "http://127.0.0.1:8000"}, 202),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 403),
    ],
)
def test_local_mode_takes_changes_from_its_own_pages(settings: Settings, headers: dict[str, str], status: int) -> None:
    with serving(settings) as client:
        assert client.post("/api/v1/submissions", json=ORDER, headers=headers).status_code == status


def test_a_token_needs_no_origin_and_speaks_for_its_user(settings: Settings) -> None:
    with serving(settings) as client:
        made = client.post("/api/v1/users", json={"name": "ada", "role": "student"}, headers=SAME_ORIGIN)
        assert made.status_code == 201
        ada = {"Authorization": f"Bearer {made.json()['token']['token']}"}
        assert client.get("/api/v1/me", headers=ada).json()["name"] == "ada"
        assert client.post("/api/v1/submissions", json=ORDER, headers=ada).status_code == 202


@pytest.mark.parametrize("authorization", ["Bearer wrong", "Bearer ", "Basic YTpi", "wrong", ""])
def test_a_bad_token_is_refused_in_every_mode(local: TestClient, server: TestClient, authorization: str) -> None:
    for client in (local, server):
        answer = client.get("/api/v1/me", headers={"Authorization": authorization})
        assert answer.status_code == 401
        assert answer.json()["type"] == "/problems/not-signed-in"
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("authorization", ["Bearer ", "Basic YTpi", "Basic", "wrong", ""])
def test_an_empty_token_is_nobodys_even_where_one_is_stored(server: TestClient, authorization: str) -> None:
    with resources_of(server).store.transaction() as session:
        access.ensure_admin_token(session, "")
    assert server.get("/api/v1/me", headers={"Authorization": authorization}).status_code == 401
    assert server.post("/login", data={"token": " "}).status_code == 401


@pytest.mark.parametrize("authorization", ["Basic YTpi", "", "Bearer"])
def test_what_a_browser_may_add_by_itself_proves_no_origin(local: TestClient, authorization: str) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Authorization": authorization}
    answer = local.post("/api/v1/submissions", json=ORDER, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/cross-origin")


@pytest.mark.parametrize("path", ["/me", "/drills", "/drills/toy", "/submissions", "/submissions/x", "/tokens"])
def test_server_mode_wants_to_know_who_asks(server: TestClient, path: str) -> None:
    assert server.get(f"/api/v1{path}").status_code == 401


def test_nobody_submits_anonymously(server: TestClient) -> None:
    assert server.post("/api/v1/submissions", json=ORDER).status_code == 401
    cross = server.post("/api/v1/submissions", json=ORDER, headers={"Sec-Fetch-Site": "cross-site"})
    assert cross.status_code == 403


@pytest.mark.parametrize(
    "body", [b"{", b'{"name": "\xff"}', b"[" * 100_000, b"{}"], ids=["open", "latin", "deep", "empty"]
)
@pytest.mark.parametrize("token", [{}, {"Authorization": "Bearer wrong"}], ids=["none", "wrong"])
def test_nobody_in_particular_learns_nothing_of_a_body(server: TestClient, body: bytes, token: dict[str, str]) -> None:
    paths = server.get("/api/v1/openapi.json").json()["paths"]
    taking = [(method, path) for path, ways in paths.items() for method, way in ways.items() if "requestBody" in way]
    assert ("post", "/api/v1/users") in taking
    for kind in ("application/json", "multipart/form-data"):
        answers = [
            server.request(method, path, content=body, headers={"Content-Type": kind, **token})
            for method, path in taking
        ]
        assert {answer.status_code for answer in answers} == {401}
        assert {answer.json()["type"] for answer in answers} == {"/problems/not-signed-in"}


def test_only_administrators_make_users(server: TestClient, sign_up: SignUp) -> None:
    order = {"name": "new", "role": "instructor"}
    for name, role in (("s", Role.STUDENT), ("i", Role.INSTRUCTOR)):
        answer = server.post("/api/v1/users", json=order, headers=sign_up(name, role))
        assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")
    root = sign_up("root", Role.ADMIN)
    made = server.post("/api/v1/users", json=order, headers=root)
    assert (made.status_code, made.json()["role"]) == (201, "instructor")
    again = server.post("/api/v1/users", json=order, headers=root)
    assert (again.status_code, again.json()["type"]) == (409, "/problems/name-taken")
    for reserved in ("local", "admin"):
        taken = server.post("/api/v1/users", json={"name": reserved, "role": "student"}, headers=root)
        assert taken.status_code == 409


def test_tokens_are_shown_once_kept_as_hashes_and_can_be_ended(server: TestClient, sign_up: SignUp) -> None:
    ada = sign_up("ada")
    made = server.post("/api/v1/tokens", json={"name": "laptop"}, headers=ada).json()
    laptop = {"Authorization": f"Bearer {made['token']}"}
    assert server.get("/api/v1/me", headers=laptop).json()["name"] == "ada"
    listed = server.get("/api/v1/tokens", headers=ada).json()["items"]
    assert [item["name"] for item in listed] == ["test", "laptop"]
    assert all("token" not in item for item in listed)
    with resources_of(server).store.reading() as session:
        assert made["token"] not in str([vars(token) for token in session.scalars(select(Token))])
    assert server.delete(f"/api/v1/tokens/{made['id']}", headers=sign_up("eve")).status_code == 404
    assert server.delete(f"/api/v1/tokens/{made['id']}", headers=ada).status_code == 204
    assert server.get("/api/v1/me", headers=laptop).status_code == 401


def test_administrators_deal_with_lost_and_leaked_tokens(server: TestClient, sign_up: SignUp) -> None:
    ada, root = sign_up("ada"), sign_up("root", Role.ADMIN)
    cookie = {"Cookie": f"{COOKIE}={sign_in(server, ada)}"}
    made = server.post("/api/v1/tokens", json={"name": "new", "user": "ada"}, headers=root)
    assert made.status_code == 201
    new = {"Authorization": f"Bearer {made.json()['token']}"}
    assert server.get("/api/v1/me", headers=new).json()["name"] == "ada"
    listed = server.get("/api/v1/tokens?user=ada", headers=root).json()["items"]
    assert [item["name"] for item in listed] == ["test", "new"]
    assert server.delete(f"/api/v1/tokens/{listed[0]['id']}", headers=root).status_code == 204
    assert [server.get("/api/v1/me", headers=headers).status_code for headers in (ada, cookie, new)] == [401, 401, 200]
    own = server.get("/api/v1/tokens", headers=root).json()["items"]
    assert [item["name"] for item in own] == ["test"]
    for answer in (
        server.get("/api/v1/tokens?user=nobody", headers=root),
        server.post("/api/v1/tokens", json={"name": "new", "user": "nobody"}, headers=root),
    ):
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found")


def sign_in(client: TestClient, headers: dict[str, str]) -> str:
    secret = headers["Authorization"].removeprefix("Bearer ")
    with resources_of(client).store.transaction() as session:
        return access.sign_in(session, secret, days=30)


def test_a_browser_session_lives_until_it_ends_or_its_token_does(server: TestClient, sign_up: SignUp) -> None:
    ada = sign_up("ada")
    store = resources_of(server).store

    def seen() -> int:
        return server.get("/api/v1/me", headers={"Cookie": f"{COOKIE}={cookie}"}).status_code

    cookie = sign_in(server, ada)
    assert seen() == 200
    with store.transaction() as session:
        assert cookie not in str(session.scalars(select(BrowserSession.sha256)).all())
        access.sign_out(session, cookie)
    assert seen() == 401

    cookie = sign_in(server, ada)
    with store.transaction() as session:
        session.execute(update(BrowserSession).values(expires_at=utc_now() - timedelta(seconds=1)))
    assert seen() == 401

    cookie = sign_in(server, ada)
    token_id = server.get("/api/v1/tokens", headers=ada).json()["items"][0]["id"]
    server.delete(f"/api/v1/tokens/{token_id}", headers=ada)
    assert seen() == 401


def test_a_cookie_alone_changes_nothing_from_elsewhere(server: TestClient, sign_up: SignUp) -> None:
    cookie = {"Cookie": f"{COOKIE}={sign_in(server, sign_up('ada'))}"}
    for origin, status in (
        ({}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        (SAME_ORIGIN, 202),
        ({"Origin": "http://127.0.0.1:8000"}, 202),
    ):
        answer = server.post("/api/v1/submissions", json=ORDER, headers=cookie | origin)
        assert answer.status_code == status


def test_the_operators_token_is_the_administrators(settings: Settings) -> None:
    def operated(token: str) -> Settings:
        return Settings(data=settings.data, database_url=settings.database_url, mode="server", admin_token=token)

    first = operated("0123456789abcdef0123456789abcdef")
    with serving(first) as client:
        old = {"Authorization": "Bearer 0123456789abcdef0123456789abcdef"}
        assert client.get("/api/v1/me", headers=old).json()["role"] == "admin"
    second = operated("fedcba9876543210fedcba9876543210")
    with serving(second) as client:
        assert client.get("/api/v1/me", headers=old).status_code == 401
        new = {"Authorization": "Bearer fedcba9876543210fedcba9876543210"}
        assert client.get("/api/v1/me", headers=new).json()["name"] == "admin"


def test_students_see_their_own_staff_see_all(server: TestClient, sign_up: SignUp) -> None:
    ada, eve, staff = sign_up("ada"), sign_up("eve"), sign_up("ines", Role.INSTRUCTOR)
    mine = submitted_by(server, "ada")
    path = f"/api/v1/submissions/{mine.submission_id}"
    assert server.get(path, headers=ada).json()["staff"] is None
    assert len(server.get(path, headers=staff).json()["staff"]["seed"]) == 64
    for method, suffix in (("GET", ""), ("GET", "/events"), ("POST", "/cancel")):
        answer = server.request(method, path + suffix, headers=eve)
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found")
    for headers, count in ((ada, 1), (eve, 0), (staff, 1)):
        assert len(server.get("/api/v1/submissions", headers=headers).json()["items"]) == count
    assert server.get("/api/v1/submissions?user=ada", headers=eve).json()["items"] == []


def submitted_by(client: TestClient, name: str) -> Submitted:
    with resources_of(client).store.transaction() as session:
        user = session.scalars(select(User).where(User.name == name)).one()
        principal = builders.Principal(user.id, name, Role(user.role), builders.Via.TOKEN)
        return builders.add_submission(session, principal)
