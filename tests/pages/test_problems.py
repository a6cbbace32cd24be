"""What goes wrong, for people and for programs."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from app.submissions import views
from tests.pages.conftest import Site
from tests.pages.document import text_of

BROWSER = {"Accept": "text/html"}


def test_what_is_not_there_is_a_page_for_a_browser(site: Site) -> None:
    page = site.get("/nope", 404)
    assert text_of(page.one("h1")) == "Not found"
    json = site.client.get("/nope", headers={"Accept": "*/*"})
    assert json.headers["Content-Type"] == "application/problem+json"
    assert json.json()["detail"] in page.text


def test_a_problem_with_a_form_leads_back_to_it(site: Site) -> None:
    page = site.post("/instructor/upload", 413, data={"file": "x" * (9 << 20)})
    assert page.by_id("back").get("href") == "/instructor#upload"
    site.get("/instructor").by_id("upload")
    for path, status in (("/drills/nope/submit", 404), ("/nope", 404), ("/nope/nope", 404)):
        assert not site.post(path, status, data={"source": "x"}).all("*[@id='back']"), path


def test_rest_stays_json_whatever_a_client_accepts(site: Site) -> None:
    for path in ("/api/v1/nope", "/api/v1/drills/nope"):
        answer = site.client.get(path, headers=BROWSER)
        assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")


def test_a_problem_keeps_its_headers(site: Site) -> None:
    answer = site.client.post("/submissions", headers=BROWSER)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET")
    assert "Method not allowed" in answer.text
    assert site.client.get("/static/nope.css", headers=BROWSER).status_code == 404


def test_an_unexpected_error_is_a_page_with_a_reference(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(views, "best_by_drill", fail)
    page = site.get("/", 500)
    assert "Reference: " in page.text
    assert "secret" not in page.text
    assert "local" in text_of(page.one("header"))
    assert site.client.get("/").headers["Content-Type"] == "application/problem+json"


def test_a_foreign_host_is_refused_with_a_page(local: TestClient) -> None:
    page = Site(local).get("/", 421, headers={"Host": "evil.example"})
    assert text_of(page.one("h1")) == "Wrong host"


def test_a_bad_token_is_refused_with_a_page(site: Site) -> None:
    assert text_of(site.get("/", 401, headers={"Authorization": "Bearer wrong"}).one("h1")) == "Not signed in"


def test_problems_speak_chinese_with_the_original_beside(site: Site) -> None:
    page = site.get("/drills/nope", 404, headers={"Accept-Language": "zh"})
    assert text_of(page.one("h1")) == "没有这个练习"
    assert "There is no published drill 'nope'." in page.text


def test_problems_speak_to_people(site: Site) -> None:
    assert "The list of drills has all that are published." in site.get("/drills/nope", 404).text
    page = site.get("/submissions?limit=0", 422)
    assert "not as it has to be" in page.text
    assert "'errors'" not in page.text


def test_what_is_asked_wrongly_is_escaped(site: Site) -> None:
    assert "<script>" in site.get("/drills/%3Cscript%3E", 404).text
    site.get("/submissions?limit=0", 422)


def test_static_files_are_there_and_known_by_their_content(site: Site) -> None:
    page = site.get("/")
    for address in [page.one("script").get("src"), *[link.get("href") for link in page.all("head/link")]]:
        assert address is not None
        assert site.client.get(address).status_code == 200
        assert "?v=" in address
