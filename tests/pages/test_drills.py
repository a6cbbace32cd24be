"""The list of drills, a drill's page and its form."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.access.principals import Role
from app.store.models import Submission
from graders.limits import SOURCE_BYTES
from graders.report import Annotation, Cause, Param, Severity
from graders.verdict import Verdict
from tests import builders
from tests.api.conftest import resources_of
from tests.pages.conftest import Site
from tests.pages.document import text_of

CAUSE = Cause(key="compile.syntax", params={"message": "m", "line": 2})
ODD = "# </textarea><script>alert(1)</script> 核 \u202e\x1b[31m\n"


def source_of(site: Site, submission_id: str) -> str:
    with resources_of(site.client).store.reading() as session:
        return session.get_one(Submission, submission_id).source


def form_source(document_site: Site, path: str) -> str:
    return document_site.get(path).by_id("source").text or ""


def test_the_list_shows_every_drill_and_ones_best(site: Site) -> None:
    page = site.get("/")
    titles = [text_of(link) for link in page.all("h2/a")]
    assert {"Row softmax", "Toy"} <= set(titles)
    assert "numerical stability" in page.text
    assert page.text.count("not tried yet") == len(titles)
    for score in (5, 10, 7):
        submission_id = site.submit()
        site.worker.take(submission_id).finish(builders.report(score=score))
        best = submission_id if score == 10 else None
        if best:
            expected = best
    site.worker.take(site.submit()).give_back(max_attempts=1)  # ours: counts for nothing
    (link,) = [link for link in site.get("/").all("dd/a") if "/submissions/" in link.get("href", "")]
    assert (link.get("href"), text_of(link)) == (f"/submissions/{expected}", "10 / 60")


def test_a_best_result_is_ones_own(sign_in: Callable[..., Site]) -> None:
    ada = sign_in("ada")
    ada.worker.take(ada.submit()).finish(builders.report())
    assert "10 / 60" in ada.get("/").text
    assert "10 / 60" not in sign_in("bob").get("/").text


def test_a_drill_says_all_one_needs_to_know(site: Site) -> None:
    page = site.get("/drills/t2_softmax")
    for text in (
        "def softmax(x: torch.Tensor, out: torch.Tensor) -> None:",
        "Rows that are all -inf",
        "The kind of error, and hints",
        "Measured on a GPU once every test passes",
        "Total 100",
        "One test 5 s 3 s",
        "aten.empty_like",
    ):
        assert text in page.text
    assert "triton.jit" in (page.by_id("source").text or "")


def test_the_way_to_the_editor_is_short(site: Site) -> None:
    page = site.get("/drills/t2_softmax")
    assert page.by_id("to-form").get("href") == "#submit"
    for name, heading in (("all-points", "points"), ("all-limits", "limits")):
        details = page.by_id(name)
        assert details.tag == "details"
        assert details.get("open") is None
        assert details.find(".//table") is not None
        assert page.by_id(heading).tag == "h2", "the heading and its anchor stay outside"
    assert "How the 100 points are shared out" in text_of(page.by_id("all-points"))


def test_a_statement_fits_into_the_page(site: Site) -> None:
    page = site.get("/drills/t2_softmax")
    assert text_of(page.one("h1")) == "Row softmax"
    assert "What to write" in [text_of(heading) for heading in page.all("h2")]
    assert len(page.all("div[@class='math block']/math")) == 2
    assert len(page.all("div[@class='math block']/math//mfrac")) == 1


def test_a_statement_brings_no_html_and_no_styles(site: Site) -> None:
    statement = (
        "# One\n\n# Two\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1))\n\n|a|b|\n|-:|:-:|\n|1|2|\n\n$<i>$"
    )
    with resources_of(site.client).store.transaction() as session:
        builders.add_drill(session, builders.toy_package("odd", statement))
    page = site.get("/drills/odd")
    assert [text_of(heading) for heading in page.all("h1")] == ["Toy"]
    assert "Two" in [text_of(heading) for heading in page.all("h2")]
    assert "<script>alert(1)</script>" in page.text
    assert page.one("td[@class='align-right']").text == "1"
    assert "<i>" in text_of(page.one("span[@class='math inline']"))


def test_what_is_not_there_is_not_found(site: Site) -> None:
    assert "There is no published drill 'nope'." in site.get("/drills/nope", 404).text
    site.post("/drills/nope/submit", 404, data={"source": "x"})
    site.get("/drills/toy?from=nope", 404)


def test_the_forms_address_leads_back_to_the_drill(site: Site) -> None:
    assert text_of(site.get("/drills/toy/submit").one("h1")) == "Toy"


def test_a_form_makes_a_submission(site: Site) -> None:
    submission_id = site.submit("x = 1\r\ny = '核'\r\n")
    assert source_of(site, submission_id) == "x = 1\ny = '核'\n"
    assert "Waiting for a worker" in site.get(f"/submissions/{submission_id}").text


def test_a_file_goes_before_the_text(site: Site) -> None:
    files = {"file": ("k.py", b"y = 2\n")}
    answer = site.send("/drills/toy/submit", data={"source": "x = 1"}, files=files)
    assert source_of(site, answer.headers["Location"].rpartition("/")[2]) == "y = 2\n"


def test_no_file_is_no_file(site: Site) -> None:
    """Browsers send an empty file of no name when none was chosen."""
    body = (
        '--b\r\nContent-Disposition: form-data; name="source"\r\n\r\nx = 1\r\n'
        '--b\r\nContent-Disposition: form-data; name="file"; filename=""\r\n'
        "Content-Type: application/octet-stream\r\n\r\n\r\n--b--\r\n"
    )
    headers = {"Content-Type": "multipart/form-data; boundary=b", "Sec-Fetch-Site": "same-origin"}
    answer = site.client.post("/drills/toy/submit", content=body, headers=headers, follow_redirects=False)
    assert source_of(site, answer.headers["Location"].rpartition("/")[2]) == "x = 1"


def test_resubmitting_starts_from_the_earlier_code(site: Site) -> None:
    source = "\n" + ODD  # a first line end is easily lost in a textarea
    submission_id = site.submit(source)
    page = site.get(f"/drills/toy?from={submission_id}")
    assert page.by_id("source").text == "\n" + source
    assert f"/submissions/{submission_id}" in [link.get("href") for link in page.all("a")]


def test_resubmitting_shows_what_was_found_beside_the_code(site: Site) -> None:
    message: dict[str, Param] = {"message": "<b>bad</b>", "line": 2}
    padding: dict[str, Param] = {"misconception": "padding_zero"}
    notes = [
        Annotation(key="compile.syntax", params=message, line=2, severity=Severity.ERROR),
        Annotation(key="annotation.misconception", params=padding, line=3, severity=Severity.WARNING),
    ]
    submission_id = site.submit(drill="t2_softmax")
    failed = builders.report([], verdict=Verdict.COMPILE_ERROR, score=0, cause=CAUSE, annotations=notes)
    site.worker.take(submission_id).finish(failed)
    page = site.get(f"/drills/t2_softmax?from={submission_id}")
    assert "✗ Compile error" in page.text
    assert [text_of(item) for item in page.all("ul[@class='notes']/li")] == [
        "line 2: Python cannot read line 2: <b>bad</b>",
        "line 3: Padding filled with 0. This line may be what the diagnosis is about.",
    ]
    assert [(link.get("href"), link.get("data-line")) for link in page.all("ul[@class='notes']/li/a")] == [
        ("#source", "2"),
        ("#source", "3"),
    ]


def test_resubmitting_tells_a_student_no_more_than_the_report_does(sign_in: Callable[..., Site]) -> None:
    ada = sign_in("ada")
    submission_id = ada.submit(drill="t2_softmax")
    padding: dict[str, Param] = {"misconception": "padding_zero"}  # found in a hidden test alone
    note = Annotation(key="annotation.misconception", params=padding, line=1, severity=Severity.WARNING)
    failed = builders.report([builders.failed_case()], verdict=Verdict.WRONG_ANSWER, annotations=[note])
    ada.worker.take(submission_id).finish(failed)
    path = f"/drills/t2_softmax?from={submission_id}"
    assert "Padding" not in text_of(ada.get(path).one("section[@aria-labelledby='submit']"))
    staff = sign_in("grace", Role.INSTRUCTOR).get(path)
    assert "Padding" in text_of(staff.one("section[@aria-labelledby='submit']"))


def test_nobody_starts_from_the_code_of_others(sign_in: Callable[..., Site]) -> None:
    submission_id = sign_in("ada").submit()
    sign_in("bob").get(f"/drills/toy?from={submission_id}", 404)


@pytest.mark.parametrize(
    ("source", "status", "message"),
    [
        (" \n", 422, "There is no code to submit."),
        ("x" * (SOURCE_BYTES + 1), 413, "This is more than 64 KiB"),
        ("x\0", 422, "There is a NUL character in it"),
    ],
)
def test_a_refused_text_is_kept_beside_the_reason(site: Site, source: str, status: int, message: str) -> None:
    page = site.post("/drills/toy/submit", status, data={"source": source})
    assert message in text_of(page.by_id("source-error"))
    field = page.by_id("source")
    assert (field.get("aria-describedby"), field.get("aria-invalid")) == ("source-error", "true")
    assert (field.text or "").replace("\0", "") == "\n" + source.replace("\0", "")


def test_a_refused_file_leaves_the_text(site: Site) -> None:
    files = {"file": ("k.py", b"x = '\xff'")}
    page = site.post("/drills/toy/submit", 422, data={"source": ODD}, files=files)
    assert "This is not a text file in UTF-8." in text_of(page.by_id("file-error"))
    assert page.by_id("source").text == "\n" + ODD
    too_large = {"file": ("k.py", b"x" * (SOURCE_BYTES + 1))}
    assert "64 KiB" in text_of(site.post("/drills/toy/submit", 413, files=too_large).by_id("file-error"))


def test_the_quota_is_told_with_the_text_kept(sign_in: Callable[..., Site]) -> None:
    site = sign_in()
    assert "A student may send 3 submissions within an hour" in site.get("/drills/toy").text
    for _ in range(3):
        site.submit()
    page = site.post("/drills/toy/submit", 429, data={"source": ODD})
    assert "as many submissions as are allowed in an hour" in text_of(page.by_id("form-error"))
    assert text_of(page.by_id("form-error")).endswith(" 60 min.")
    assert page.by_id("source").text == "\n" + ODD
    assert int(site.send("/drills/toy/submit", data={"source": "x"}).headers["Retry-After"]) > 3000


def test_the_editor_leaves_the_text_to_the_browser(site: Site) -> None:
    """Which restores it after Back, and keeps it for its reader and its drill alone."""
    source = site.get("/drills/toy").by_id("source")
    assert source.get("autocomplete") is None
    assert source.get("data-draft", "").endswith("/toy")
    submission_id = site.submit()
    page = site.get(f"/submissions/{submission_id}")
    assert page.one("main").get("data-draft") == source.get("data-draft")
    assert site.get(f"/drills/toy?from={submission_id}").by_id("source").get("data-from") == submission_id
    refused = site.post("/drills/toy/submit", 422, data={"source": ""})
    assert refused.by_id("source").get("data-draft") == source.get("data-draft")
    assert not refused.all("*[@id='draft']"), "what was refused is newer than what was kept"


def test_a_body_beyond_all_limits_is_a_problem_page(site: Site) -> None:
    page = site.post("/drills/toy/submit", 413, data={"source": "x" * 600_000})
    assert "64 KiB" in page.text
    form = site.get("/drills/toy")
    assert page.by_id("back").get("href") == "/drills/toy#submit"
    assert form.by_id("submit") in form.all("section/*"), "the form's heading"
