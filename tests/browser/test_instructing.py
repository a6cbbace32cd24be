"""An instructor's way in a real browser: upload, watch the validation, publish; with JavaScript and without."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from app.store.models import DrillVersion
from graders.limits import PACKAGE_BYTES
from graders.package import Package
from graders.validation import Finding, FindingCode
from tests.browser.conftest import Service, Visit
from tests.uploads import toy_upload
from tests.validated import PlayedValidation, validation_report

pytestmark = pytest.mark.browser

WARNING = Finding.of(FindingCode.CASE_CATCHES_NOTHING, case="edges/huge", category="edges")


def sign_in(page: Page, service: Service) -> None:
    page.goto("/instructor")
    page.get_by_label("Token").fill(service.instructor)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile("/instructor$"))
    page.wait_for_load_state()


def upload(page: Page, package: Package, folder: Path) -> None:
    """Choose the drill's zip and send the form."""
    path = folder / "drill.zip"
    path.write_bytes(package.to_zip())
    page.goto("/instructor")
    page.get_by_label("Zip of the drill").set_input_files(path)
    page.get_by_role("button", name="Upload and validate").click()


def played(service: Service, slug: str) -> PlayedValidation:
    with service.worker.store.reading() as session:
        of_slug = DrillVersion.drill.has(slug=slug)
        version_id = session.scalars(select(DrillVersion.id).where(of_slug)).one()
    return PlayedValidation(service.worker.store, version_id, service.worker.wakeups)


def watch_and_publish(page: Page, service: Service, slug: str) -> None:
    """Validate the drill, looking at each step on the page before the next is taken."""
    standing = page.get_by_role("heading", level=1)
    expect(standing).to_contain_text("Being validated")
    validation = played(service, slug)
    validation.stage("code")
    expect(page.get_by_text("Trying the drill's tests and oracle")).to_be_visible()
    validation.stage("submissions")
    validation.graded("wrong_answer/zeros", "wrong_answer", 1, 2)
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "1")
    validation.finish(validation_report(WARNING))
    expect(standing).to_contain_text("Valid")
    expect(page.get_by_text("edges/huge catches nothing")).to_be_visible()
    page.get_by_role("button", name="Publish").click()
    expect(standing).to_contain_text("Published")
    page.goto(f"/drills/{slug}")
    expect(page.get_by_role("button", name="Submit")).to_be_enabled()


def test_a_drill_is_uploaded_watched_and_published(visit: Visit, service: Service, tmp_path: Path) -> None:
    sign_in(visit.page, service)
    with (tmp_path / "large.zip").open("wb") as file:
        file.truncate(PACKAGE_BYTES + 1)
    visit.page.get_by_label("Zip of the drill").set_input_files(tmp_path / "large.zip")
    expect(visit.page.get_by_text("nothing was stored: it is too large")).to_be_visible()
    visit.page.get_by_role("button", name="Upload and validate").click()
    expect(visit.page).to_have_url(re.compile("/instructor$"))
    upload(visit.page, toy_upload("watched"), tmp_path)
    watch_and_publish(visit.page, service, "watched")


def test_the_same_without_javascript(visit_without_script: Visit, service: Service, tmp_path: Path) -> None:
    sign_in(visit_without_script.page, service)
    upload(visit_without_script.page, toy_upload("unscripted"), tmp_path)
    watch_and_publish(visit_without_script.page, service, "unscripted")


def test_no_page_of_an_instructor_scrolls_sideways(visit: Visit, service: Service, tmp_path: Path) -> None:
    page = visit.page
    sign_in(page, service)
    page.set_viewport_size({"width": 390, "height": 800})
    upload(page, toy_upload("narrow"), tmp_path)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Being validated")
    played(service, "narrow").finish(validation_report(WARNING))
    folder = "/instructor/drills/narrow"
    for path in ("", "/versions/1", "/versions/1/preview", "/diff?old=1&new=1"):
        page.goto(folder + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    page.goto("/instructor")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
