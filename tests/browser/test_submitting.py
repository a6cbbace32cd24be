"""A student's way in a real browser: sign in, submit, watch, read; with JavaScript and without."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app.access.cookie import COOKIE
from graders.report import Annotation, Cause, Severity
from graders.verdict import CaseStatus, State, Verdict
from tests import builders
from tests.browser.conftest import Service, Visit

pytestmark = pytest.mark.browser

SOURCE = "def toy(x, out):\n    print('<script>alert(1)</script>')\n"
NOTE = Annotation(key="annotation.kernel", params={"message": "m"}, line=2, severity=Severity.WARNING)
CAUSE = Cause(key="case.wrong", params={"count": 3, "total": 8}, hint_key="hint.masks")


def sign_in(page: Page, service: Service) -> None:
    page.goto("/drills/toy")
    page.get_by_label("Token").fill(service.token)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile("/drills/toy$"))
    page.wait_for_load_state()


def submit(page: Page) -> str:
    """Send the form and return the submission's id."""
    page.get_by_label("Your code").fill(SOURCE)
    page.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile("/submissions/"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Waiting for a worker")
    return page.url.rpartition("/")[2]


def watch_to_the_end(page: Page, service: Service, submission_id: str) -> None:
    """Judge the submission, looking at each step on the page before the next is taken."""
    verdict = page.get_by_role("heading", level=1)
    grading = service.worker.take(submission_id)
    expect(verdict).to_contain_text("Compiling")
    grading.state(State.TESTING)
    expect(verdict).to_contain_text("Running the tests")
    passed = builders.passed_case(1, stdout="<b>out</b>")
    failed = builders.passed_case(
        2, status=CaseStatus.FAILED, verdict=Verdict.WRONG_ANSWER, points=0, cause=CAUSE, stdout=None
    )
    for number, case in enumerate((passed, failed), 1):
        grading.case(case)
        expect(page.locator("table.cases tbody")).to_have_count(number)
    grading.finish(builders.report([passed, failed], verdict=Verdict.WRONG_ANSWER, annotations=[NOTE]))
    expect(verdict).to_contain_text("Wrong answer")
    expect(page.get_by_text("Check the mask and the value of masked elements")).to_be_visible()
    expect(page.get_by_text("<script>alert(1)</script>")).to_be_visible()
    expect(page).to_have_title(re.compile("Wrong answer"))


def test_progress_comes_by_itself(visit: Visit, service: Service) -> None:
    sign_in(visit.page, service)
    submission_id = submit(visit.page)
    loads: list[str] = []
    visit.page.on("framenavigated", lambda frame: loads.append(frame.url))
    watch_to_the_end(visit.page, service, submission_id)
    assert loads == []
    expect(visit.page.get_by_role("status")).to_have_text("Wrong answer")
    visit.page.reload()
    expect(visit.page.get_by_role("heading", level=1)).to_contain_text("Wrong answer")
    visit.page.get_by_role("link", name="Change the code and submit again").click()
    visit.page.get_by_role("link", name="line 2").click()
    expect(visit.page.get_by_label("Your code")).to_be_focused()
    assert visit.page.evaluate("getSelection().toString()") == SOURCE.split("\n")[1]


def test_the_place_in_the_queue_moves_by_itself(visit: Visit, service: Service) -> None:
    page = visit.page
    page.clock.install()
    sign_in(page, service)
    first = submit(page)
    page.goto("/drills/toy")
    submit(page)
    place = page.get_by_text(re.compile(r"^Number \d+ in the queue$"))
    before = int(place.inner_text().split()[1])
    service.worker.take(first)
    page.clock.run_for(6_000)
    expect(place).to_have_text(f"Number {before - 1} in the queue")


def test_all_of_it_works_without_javascript(visit_without_script: Visit, service: Service) -> None:
    page = visit_without_script.page
    sign_in(page, service)
    watch_to_the_end(page, service, submit(page))
    page.get_by_role("link", name="Change the code and submit again").click()
    expect(page.get_by_label("Your code")).to_have_value(SOURCE)


def test_progress_keeps_what_the_reader_opened_and_focused(visit: Visit, service: Service) -> None:
    page = visit.page
    sign_in(page, service)
    grading = service.worker.take(submit(page))
    grading.case(builders.passed_case(1))
    page.locator("#open-1").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#more-1")).to_have_attribute("open", "")
    grading.case(builders.passed_case(2))
    expect(page.locator("table.cases tbody")).to_have_count(2)
    expect(page.locator("#more-1")).to_have_attribute("open", "")
    expect(page.locator("#open-1")).to_be_focused()


def test_cancelling_by_keyboard(visit: Visit, service: Service) -> None:
    page = visit.page
    sign_in(page, service)
    submit(page)
    page.locator("#cancel").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Cancelled")


def test_the_keyboard_reaches_the_form_and_leaves_it(visit: Visit, service: Service) -> None:
    page = visit.page
    sign_in(page, service)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    source, button = page.get_by_label("Your code"), page.get_by_role("button", name="Submit")
    _tab_to(page, "source")
    expect(source).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("x = 1")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/submissions/"))


def test_what_was_typed_outlives_leaving_and_the_session(visit: Visit, service: Service) -> None:
    page = visit.page
    sign_in(page, service)
    source, restored = page.get_by_label("Your code"), page.get_by_text("What you had typed here was restored.")
    starter = source.input_value()
    expect(restored).to_be_hidden()
    source.fill(SOURCE)
    page.get_by_role("link", name="Submissions for this drill").click()
    page.go_back()
    expect(source).to_have_value(SOURCE)
    page.goto("/drills/toy")
    expect(source).to_have_value(SOURCE)
    expect(restored).to_be_visible()
    page.get_by_role("button", name="Start from the starter again").click()
    expect(source).to_have_value(starter)
    page.keyboard.press("Control+z")
    expect(source).to_have_value(SOURCE)
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_label("你的代码")).to_have_value(SOURCE)
    page.get_by_role("button", name="English").click()
    page.context.clear_cookies(name=COOKIE)
    page.get_by_role("button", name="Submit").click()
    page.get_by_label("Token").fill(service.token)
    page.get_by_role("button", name="Sign in").click()
    expect(source).to_have_value(SOURCE)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Waiting for a worker")
    page.goto("/drills/toy")
    expect(source).to_have_value(starter)
    expect(restored).to_be_hidden()


def test_after_back_it_is_the_text_that_is_sent(visit: Visit, service: Service, tmp_path: Path) -> None:
    page = visit.page
    sign_in(page, service)
    (tmp_path / "kernel.py").write_text("x = 'of the file'\n")
    page.get_by_label("Or a Python file").set_input_files(tmp_path / "kernel.py")
    submission_id = submit(page)
    expect(page.get_by_text("of the file")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Your code")).to_have_value(SOURCE)
    page.get_by_role("button", name="Submit").click()
    expect(page).not_to_have_url(re.compile(f"/drills/|{submission_id}"))
    expect(page.get_by_text("<script>alert(1)</script>")).to_be_visible()
    page.goto("/drills/toy")
    page.get_by_label("Your code").fill("x = 'a draft'")
    page.goto(f"/drills/toy?from={submission_id}")
    expect(page.get_by_text("Start from that submission's code again")).to_be_hidden()
    expect(page.get_by_label("Your code")).to_have_value("x = 'of the file'\n")
    page.get_by_label("Your code").fill("x = 'mended'")
    page.reload()
    expect(page.get_by_label("Your code")).to_have_value("x = 'mended'")
    expect(page.get_by_text("Start from that submission's code again")).to_be_visible()


def test_the_language_is_switched(visit: Visit, service: Service) -> None:
    sign_in(visit.page, service)
    visit.page.get_by_role("button", name="中文").click()
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("玩具")
    expect(visit.page).to_have_url(re.compile("/drills/toy$"))


@pytest.mark.parametrize("path", ["/", "/drills/t2_softmax", "/submissions"])
def test_a_narrow_window_needs_no_scrolling_sideways(visit: Visit, service: Service, path: str) -> None:
    page = visit.page
    sign_in(page, service)
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def _tab_to(page: Page, name: str) -> None:
    """Press Tab until the element of that id has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            return
    raise AssertionError(f"Tab does not reach #{name}")
