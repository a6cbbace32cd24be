"""Signing in and out in server mode."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from app.access.cookie import COOKIE
from tests.pages.conftest import Site
from tests.pages.document import text_of


@pytest.mark.parametrize(
    ("path", "next"),
    [
        ("/", "%2F"),
        ("/drills/toy", "%2Fdrills%2Ftoy"),
        ("/submissions?drill=toy&user=", "%2Fsubmissions%3Fdrill%3Dtoy%26user%3D"),
        ("/submissions/x", "%2Fsubmissions%2Fx"),
    ],
)
def test_strangers_are_sent_to_the_sign_in(server: TestClient, path: str, next: str) -> None:
    answer = server.get(path, follow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/login?next={next}")


def test_a_form_of_a_stranger_leads_back_to_its_page(server: TestClient) -> None:
    answer = Site(server).send("/drills/toy/submit", data={"source": "x"})
    assert answer.headers["Location"] == "/login?next=%2Fdrills%2Ftoy"


def test_a_token_signs_a_browser_in_and_leads_on(server: TestClient, sign_up: Callable[..., dict[str, str]]) -> None:
    token = sign_up("<i>ada</i>")["Authorization"].removeprefix("Bearer ")
    site = Site(server)
    form = site.get("/login?next=/submissions%3Fdrill=toy")
    assert form.one("main//input[@name='next']").get("value") == "/submissions?drill=toy"
    answer = site.send("/login", data={"token": f" {token}\n", "next": "/submissions?drill=toy"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/submissions?drill=toy")
    assert {"httponly", "samesite=lax"} <= set(answer.headers["Set-Cookie"].lower().split("; "))
    assert "An administrator can make you one." in form.text
    header = text_of(site.get("/submissions").one("header"))
    assert "<i>ada</i> student" in header
    assert token not in answer.headers["Set-Cookie"]


def test_a_wrong_token_is_told_beside_the_field(server: TestClient) -> None:
    page = Site(server).post("/login", 401, data={"token": "wrong", "next": "/submissions"})
    assert "This token is not known" in text_of(page.by_id("token-error"))
    assert page.by_id("token").get("value") is None
    assert [field.get("value") for field in page.all("main//input[@name='next']")] == ["/submissions"]
    assert COOKIE not in server.cookies


@pytest.mark.parametrize(
    "next",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a\nb", "/é", "", "drills"],
)
def test_a_link_to_us_leads_nowhere_else(server: TestClient, sign_up: Callable[..., dict[str, str]], next: str) -> None:
    token = sign_up()["Authorization"].removeprefix("Bearer ")
    for path, form in (("/login", {"token": token}), ("/language", {"locale": "en"})):
        assert Site(server).send(path, data={**form, "next": next}).headers["Location"] == "/"


def test_signing_out_ends_the_session(sign_in: Callable[..., Site]) -> None:
    site = sign_in()
    cookie = site.client.cookies[COOKIE]
    assert site.send("/logout").headers["Location"] == "/"
    assert COOKIE not in site.client.cookies
    site.client.cookies.set(COOKIE, cookie)
    assert site.client.get("/", follow_redirects=False).status_code == 303


def test_a_form_from_elsewhere_is_refused_as_a_page(sign_in: Callable[..., Site]) -> None:
    site = sign_in()
    headers = {"Accept": "text/html", "Sec-Fetch-Site": "cross-site"}
    answer = site.client.post("/logout", headers=headers)
    assert answer.status_code == 403
    assert "Request from elsewhere" in answer.text


def test_local_mode_needs_no_sign_in_and_has_no_sign_out(site: Site) -> None:
    header = text_of(site.get("/").one("header"))
    assert "local administrator" in header
    assert "Sign out" not in header
