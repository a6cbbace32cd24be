"""The list of submissions: its order, its filters, and who sees what in it."""

from __future__ import annotations

from collections.abc import Callable

from app.access.principals import Role
from app.drills import service as drills
from graders.report import Cause
from graders.verdict import Verdict
from tests.api.conftest import resources_of
from tests.pages.conftest import Site
from tests.pages.document import Document, text_of
from tests.pages.test_submissions import SCRIPT, judged


def test_the_list_is_newest_first_and_pages(site: Site) -> None:
    ids = [site.submit() for _ in range(5)]
    page = site.get("/submissions?limit=2&drill=toy")
    seen = _listed(page)
    assert len(seen) == 2
    assert not page.all("a[@rel='newest']")
    while older := page.all("a[@rel='next']"):
        page = site.get(older[0].get("href", ""))
        seen += _listed(page)
    assert seen == [f"/submissions/{submission_id}" for submission_id in reversed(ids)]
    assert [link.get("href") for link in page.all("main/nav/a")] == ["/submissions?drill=toy"]


def test_the_list_is_filtered(site: Site) -> None:
    toy, softmax = judged(site), f"/submissions/{site.submit(drill='t2_softmax')}"
    assert _listed(site.get("/submissions")) == [softmax, toy]
    page = site.get("/submissions?drill=toy&user=")
    assert _listed(page) == [toy]
    assert [option.get("value") for option in page.all("option[@selected]")] == ["toy"]
    assert "✓ Accepted 10 / 60 local" in page.text
    assert _listed(site.get("/submissions?user=nobody")) == []
    assert "There are no submissions." in site.get("/submissions?drill=nope").text


def test_the_box_names_the_drill_that_the_list_is_filtered_by_though_it_is_retired(site: Site) -> None:
    def chosen(drill: str) -> list[tuple[str | None, str]]:
        page = site.get(f"/submissions?drill={drill}")
        return [(option.get("value"), text_of(option)) for option in page.all("option[@selected]")]

    judged(site)
    with resources_of(site.client).store.transaction() as session:
        toy = drills.published(session, "toy")
        assert toy is not None
        drills.retire(session, toy)
    assert chosen("toy") == [("toy", "Toy")]
    assert chosen("nope%E2%80%AE") == [("nope\u202e", "nope⟨U+202E⟩")]
    assert chosen("") == []


def test_the_list_marks_what_used_no_attempt(site: Site) -> None:
    judged(site)
    judged(site, [], verdict=Verdict.JUDGE_ERROR, score=0, cause=Cause(key="judge.failed"), expected_cases=1)
    marked = ["No attempt was used" in text_of(row) for row in site.get("/submissions").all("tbody/tr")]
    assert marked == [True, False]


def test_students_list_their_own(sign_in: Callable[..., Site]) -> None:
    name = f"{SCRIPT}\u202e"
    path = judged(sign_in(name))
    bob = sign_in("bob")
    assert _listed(bob.get(f"/submissions?user={name}")) == []
    assert text_of(bob.get("/submissions").one("h1")) == "My submissions"
    staff = sign_in("grace", Role.INSTRUCTOR).get("/submissions")
    assert _listed(staff) == [path]
    assert f"{SCRIPT}⟨U+202E⟩" in staff.text


def _listed(page: Document) -> list[str]:
    return [link.get("href", "") for link in page.all("tbody//th/a")]
