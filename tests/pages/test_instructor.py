"""Adding drills by page: upload, validation, preview, publishing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select

from app.access.principals import Role
from app.store.models import DrillVersion
from graders.validation import Finding, FindingCode, ReferenceTiming
from tests import builders
from tests.api.conftest import resources_of
from tests.pages.conftest import Site
from tests.pages.document import text_of
from tests.uploads import form, toy_upload
from tests.validated import PlayedValidation, validation_report

SignIn = Callable[..., Site]

VERSION = "/instructor/drills/copy/versions/1"
NOT_CAUGHT = Finding.of(
    FindingCode.NOT_CAUGHT,
    file="graders/copy/submissions/wrong_answer/<b>.py",
    line=1,
    submission="wrong_answer/<b>",
    expected="wrong_answer",
    claims="basic",
)
NOTHING = Finding.of(FindingCode.CASE_CATCHES_NOTHING, case="edges/huge", category="edges")


def upload(site: Site, **changes: object) -> str:
    """Send the form and return the version's address."""
    answer = site.send("/instructor/upload", files=form(toy_upload(**changes).to_zip()))  # type: ignore[arg-type]
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"]


def played(site: Site, number: int = 1) -> PlayedValidation:
    store = resources_of(site.client).store
    with store.reading() as session:
        of_copy = (DrillVersion.number == number, DrillVersion.drill.has(slug="copy"))
        return PlayedValidation(store, session.scalars(select(DrillVersion.id).where(*of_copy)).one())


def offered(site: Site) -> bool:
    """Whether students find the drill in their list."""
    return bool(site.get("/").all("h2/a[@href='/drills/copy']"))


@pytest.fixture
def ines(sign_in: SignIn) -> Site:
    return sign_in("ines", Role.INSTRUCTOR)


def test_from_the_form_to_the_students_list(ines: Site) -> None:
    assert upload(ines) == VERSION
    page = ines.get(VERSION)
    assert "Being validated" in text_of(page.one("h1"))
    assert "No worker is there" in page.text
    assert page.all("button[@id='publish']") == []
    assert ines.worker
    page = ines.get(VERSION)
    assert "Waiting for a worker" in page.text
    assert page.one("main").get("data-queued") is not None
    played(ines).finish(validation_report())
    page = ines.get(VERSION)
    assert "Valid" in text_of(page.one("h1"))
    assert "Everything is as it should be." in page.text
    assert not offered(ines)
    assert ines.send(f"{VERSION}/publish").headers["Location"] == VERSION
    page = ines.get(VERSION)
    assert "Published" in text_of(page.one("h1"))
    assert "Students get this version now." in page.text
    assert offered(ines)
    submission_id = ines.submit(drill="copy")
    ines.worker.take(submission_id).case(builders.passed_case(1))
    assert "Tests done so far: 1 of 2" in ines.get(f"/submissions/{submission_id}").text, "as its validation counted"
    ines.send(f"{VERSION}/retire")
    assert "Retired" in text_of(ines.get(VERSION).one("h1"))
    assert not offered(ines)
    ines.send(f"{VERSION}/retire")  # again changes nothing
    assert text_of(ines.get(VERSION).by_id("publish")) == "Publish"


def test_an_upload_that_is_refused_says_all_that_is_wrong_and_what_to_do(ines: Site) -> None:
    package = toy_upload(changed={"misconceptions.py": "x = 1\ndef f(:\n"}, without="cases.py")
    page = ines.post("/instructor/upload", 422, files=form(package.to_zip()))
    assert "nothing was stored" in text_of(page.by_id("file-error"))
    assert page.by_id("file").get("aria-describedby") == "file-error"
    (missing, syntax) = [text_of(item) for item in page.all("ul[@class='told']/li")]
    assert "graders/copy/cases.py is missing." in missing
    assert "warpgrade drill new" in missing
    assert "graders/copy/misconceptions.py:2" in syntax
    chinese = ines.client.post(
        "/instructor/upload",
        files=form(package.to_zip()),
        headers={"Accept": "text/html", "Accept-Language": "zh", "Sec-Fetch-Site": "same-origin"},
    )
    assert "什么也没有保存" in chinese.text
    assert "graders/copy/cases.py is missing." not in chinese.text
    assert "You have not added a drill yet." in ines.get("/instructor").text


@pytest.mark.parametrize(
    ("data", "status", "said"),
    [(b"", 422, "nothing was stored"), (b"x" * (9 << 20), 413, "8 MiB"), (b"x" * 600_000, 422, "cannot be read")],
)
def test_what_is_no_drill_is_refused_on_the_page(ines: Site, data: bytes, status: int, said: str) -> None:
    assert said in ines.post("/instructor/upload", status, files=form(data)).text


def test_a_form_without_a_file_asks_for_one(ines: Site) -> None:
    page = ines.post("/instructor/upload", 422, files={"file": ("", b"", "application/octet-stream")})
    assert "Choose a zip first." in text_of(page.by_id("file-error"))


def test_somebody_elses_slug_is_refused_on_the_page(sign_in: SignIn) -> None:
    upload(sign_in("ines", Role.INSTRUCTOR))
    changed = toy_upload(changed={"statement.en.md": "Mine. Basics, edges."})
    page = sign_in("eve", Role.INSTRUCTOR).post("/instructor/upload", 409, files=form(changed.to_zip()))
    assert "belongs to somebody else" in text_of(page.by_id("file-error"))


def test_progress_is_shown_as_it_comes_with_and_without_javascript(ines: Site) -> None:
    upload(ines)
    validation = played(ines)
    assert ines.worker
    assert "Waiting for a worker" not in ines.get(VERSION).text
    validation.stage("code")
    assert "Trying the drill's tests and oracle" in ines.get(VERSION).text
    validation.stage("submissions")
    validation.graded("wrong_answer/zeros", "wrong_answer", 1, 3)
    validation.graded("accepted/copies", "", 2, 3)
    page = ines.get(VERSION)
    assert page.one("main").get("data-events") == "/api/v1/drills/copy/versions/1/events?after=6"
    assert page.one("noscript/meta").get("content") == "3"
    assert (page.one("progress").get("value"), page.one("progress").get("max")) == ("2", "3")
    assert [text_of(item) for item in page.all("ul[@class='through']/li")] == [
        "accepted/copies Judge error",
        "wrong_answer/zeros Wrong answer",
    ]
    validation.finish(validation_report())
    page = ines.get(VERSION)
    assert page.one("main").get("data-events") is None
    assert page.all("progress") == []


def test_a_second_attempt_begins_its_progress_again(ines: Site) -> None:
    upload(ines)
    first = played(ines)
    first.stage("submissions")
    first.graded("wrong_answer/zeros", "wrong_answer", 1, 3)
    first.give_back(max_attempts=3)
    played(ines).stage("form")
    page = ines.get(VERSION)
    assert "Reading the package" in page.text
    assert page.all("progress") == []
    assert "1: the <judge> died" in page.text


def test_the_report_names_errors_and_warnings_with_what_to_do(ines: Site) -> None:
    upload(ines)
    timing = ReferenceTiming(shape="8192×4096", time_us=69.9, spread=0.004, fraction_of_copy=0.93)
    played(ines).finish(validation_report(NOT_CAUGHT, NOTHING, reference=[timing]))
    page = ines.get(VERSION)
    assert "Not valid" in text_of(page.one("h1"))
    error, warning = [text_of(item) for item in page.all("ul[@class='told']/li")]
    assert "wrong_answer/<b> is accepted" in error
    assert "graders/copy/submissions/wrong_answer/<b>.py:1" in error
    assert "edges/huge catches nothing" in warning
    for text in ("Errors: 1", "Warnings: 1", "Submissions run: 2", "69.9 µs", "93 %", "15.00 s"):
        assert text in page.text, text
    assert page.all("button[@id='publish']") == []
    assert text_of(page.by_id("validate")) == "Validate again"
    chinese = ines.get(VERSION, headers={"Accept-Language": "zh"})
    assert "无效" in text_of(chinese.one("h1"))
    assert "catches nothing" not in chinese.text


def test_a_valid_version_with_warnings_does_not_say_that_all_is_well(ines: Site) -> None:
    upload(ines)
    alone = Finding.of(FindingCode.CASES_NOT_JUDGED, count=1, cases="edges/huge")
    played(ines).finish(validation_report(NOTHING, alone))
    page = ines.get(VERSION)
    assert "Valid" in text_of(page.one("h1"))
    assert "It can be published, but there are warnings" in page.text
    assert "Everything is as it should be" not in page.text
    assert "Tests that could not be judged on this machine: 1 (edges/huge)." in page.text


def test_each_test_says_what_it_is_worth_and_what_it_catches(ines: Site) -> None:
    upload(ines)
    played(ines).finish(validation_report())
    page = ines.get(VERSION)
    tests, submissions = page.one("table[@class='cases']"), page.one("table[@class='cases wide']")
    rows = [text_of(row) for row in tests.findall("tbody/tr")]
    assert rows == [
        "one Basics 20 1 ms 1 wrong_answer/zeros",
        "huge Edges 40 – not judged on this kind of machine",
    ]
    rows = [text_of(row) for row in submissions.findall("tbody/tr")]
    assert "As expected: 2" in page.text
    assert rows[1].endswith("wrong_answer/zeros Wrong answer Wrong answer Basics –")


def test_what_failed_through_our_fault_is_told_so_and_validated_again(ines: Site) -> None:
    upload(ines)
    played(ines).give_back(max_attempts=1)
    page = ines.get(VERSION)
    assert "through no fault of the drill" in page.text
    assert ines.send(f"{VERSION}/validate").status_code == 303
    assert "Being validated" in text_of(ines.get(VERSION).one("h1"))
    ines.send(f"{VERSION}/validate")  # again changes nothing


def test_the_preview_is_the_students_page_without_its_form(ines: Site) -> None:
    upload(ines)
    page = ines.get(f"{VERSION}/preview")
    assert "Preview of version 1" in page.text
    assert "def toy(x: torch.Tensor, out: torch.Tensor) -> None:" in page.text
    assert "Basics and edges are tested." in page.text
    assert page.one("form[@class='submit']/button").get("disabled") is not None
    assert "SECRET_OF_THE_CASES" not in page.text


def test_versions_are_listed_and_compared(ines: Site) -> None:
    upload(ines)
    upload(ines, changed={"statement.en.md": "Copy <b>. Basics, edges.", "cases.py": "CASES = (1,)\n"})
    listed = ines.get("/instructor").text
    assert "version 2" in listed
    page = ines.get("/instructor/drills/copy")
    assert [text_of(link) for link in page.all("th/a")] == ["version 2", "version 1"]
    assert page.by_id("old").find("option[@selected]").get("value") == "1"  # type: ignore[union-attr]
    changes = ines.get("/instructor/drills/copy/diff?old=1&new=2")
    assert "+Copy <b>. Basics, edges." in changes.text
    assert "graders/copy/cases.py" in changes.text
    assert "Nothing has changed." in ines.get("/instructor/drills/copy/diff?old=1&new=1").text
    assert ines.get("/instructor/drills/copy/versions/2").by_id("diff").get("href", "").endswith("diff?old=1&new=2")


def test_each_version_says_which_one_students_get_and_which_after_it(ines: Site) -> None:
    def retiring(version: str) -> str:
        return text_of(ines.get(version).by_id("after-retiring"))

    second = VERSION.replace("/1", "/2")
    for number, version in enumerate((VERSION, second), 1):
        upload(ines, changed={"statement.en.md": f"Copy {number}. Basics, edges."})
        played(ines, number).finish(validation_report())
        ines.send(f"{version}/publish")
        if number == 1:
            assert retiring(version) == "Once it is retired, students do not find the drill any more."
    first = ines.get(VERSION)
    assert "It is published, but students get version 2, which is newer." in first.text
    assert "It is offered to students." not in first.text
    assert retiring(VERSION) == "Once it is retired, students still get version 2."
    assert retiring(second) == "Once it is retired, students get version 1 again."
    ines.send(f"{second}/retire")
    assert "It is offered to students." in ines.get(VERSION).text
    assert ines.get(second).all("*[@id='after-retiring']") == []


def test_who_did_not_add_a_drill_looks_and_changes_nothing(sign_in: SignIn) -> None:
    ines = sign_in("ines", Role.INSTRUCTOR)
    upload(ines)
    played(ines).finish(validation_report())
    eve = sign_in("eve", Role.INSTRUCTOR)
    assert "You have not added a drill yet." in eve.get("/instructor").text
    page = eve.get(VERSION)
    assert page.all("div[@class='actions']") == []
    for action in ("publish", "retire", "validate"):
        eve.post(f"{VERSION}/{action}", 403)


def test_students_have_no_part_in_it(sign_in: SignIn) -> None:
    upload(sign_in("ines", Role.INSTRUCTOR))
    ada = sign_in("ada")
    assert "Prepare drills" not in text_of(ada.get("/").one("header"))
    for path in ("", "/drills/copy", "/drills/copy/versions/1", "/drills/copy/versions/1/preview"):
        ada.get(f"/instructor{path}", 403)
    ada.get("/instructor/drills/copy/diff?old=1&new=1", 403)
    for action in ("publish", "retire", "validate"):
        ada.post(f"{VERSION}/{action}", 403)
    ada.post("/instructor/upload", 403, files=form(toy_upload().to_zip()))


def test_who_is_not_signed_in_is_asked_to(sign_in: SignIn) -> None:
    site = sign_in("ines", Role.INSTRUCTOR)
    site.client.cookies.clear()
    answer = site.client.get(VERSION, headers={"Accept": "text/html"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (
        303,
        "/login?next=%2Finstructor%2Fdrills%2Fcopy%2Fversions%2F1",
    )
    assert site.send("/instructor/upload", files=form(b"x")).headers["Location"] == "/login?next=%2Finstructor"


def test_the_forms_address_leads_back_to_the_form(ines: Site) -> None:
    assert text_of(ines.get("/instructor/upload").one("h1")) == "Prepare drills"
    ines.get("/instructor/drills/nope", 404)
    ines.get("/instructor/drills/copy/versions/1", 404)


def test_what_comes_with_warpgrade_is_looked_at_too(sign_in: SignIn) -> None:
    root = sign_in("root", Role.ADMIN)
    page = root.get("/instructor/drills/t2_softmax/versions/1")
    assert "Published" in text_of(page.one("h1"))
    assert text_of(page.by_id("retire")) == "Retire"
    assert "Row softmax" in root.get("/instructor").text
