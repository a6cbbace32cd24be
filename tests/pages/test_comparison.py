"""A submission beside the one before it."""

from __future__ import annotations

from collections.abc import Callable

from app.access.principals import Role
from graders.report import CaseResult, Performance, PerformanceStatus, ShapeTiming
from graders.verdict import CaseStatus, Verdict, Visibility
from tests import builders
from tests.api.conftest import SAME_ORIGIN, local, resources_of, server, server_settings, sign_up  # noqa: F401
from tests.pages.conftest import Site
from tests.pages.document import text_of

PASSED, FAILED = CaseStatus.PASSED, CaseStatus.FAILED


def judged(site: Site, source: str, *statuses: CaseStatus, time_us: float | None = None) -> str:
    """A graded submission whose tests ended so. Returns its path."""
    submission_id = site.submit(source)
    cases = [named(number, status) for number, status in enumerate(statuses, 1)]
    verdict = Verdict.WRONG_ANSWER if FAILED in statuses else Verdict.ACCEPTED
    changes = {} if time_us is None else {"performance": measured(time_us)}
    site.worker.take(submission_id).finish(builders.report(cases, verdict=verdict, **changes))
    return f"/submissions/{submission_id}"


def named(ordinal: int, status: CaseStatus) -> CaseResult:
    """The first is public, all others are hidden."""
    visibility = Visibility.PUBLIC if ordinal == 1 else Visibility.HIDDEN
    case = builders.failed_case if status is FAILED else builders.passed_case
    return case(ordinal, visibility).model_copy(update={"name": f"secret_{ordinal}"})


def measured(time_us: float) -> Performance:
    whole = {"name": "wide", "shape": [8, 256], "dtype": "float32", "spread": 0.01, "rounds": 9, "half_width": 0.004}
    whole |= {"reference_us": 50.0, "gbps": 1000.0, "fraction_of_copy": 0.5, "time_us": time_us, "ratio": 50 / time_us}
    shapes = [ShapeTiming.model_validate(whole)]
    return Performance(status=PerformanceStatus.MEASURED, points=10, max_points=40, ratio=50 / time_us, shapes=shapes)


def test_what_changed_is_shown(site: Site) -> None:
    first = judged(site, "a = 1\nb = 2\n", PASSED, FAILED, PASSED)
    assert not site.get(first).all("a[@id='compare']")
    second = judged(site, "a = 1\nb = '<&>'\n", FAILED, PASSED, PASSED)
    link = site.get(second).by_id("compare")
    assert text_of(link) == "Compare with attempt 1"
    page = site.get(link.get("href", ""))
    assert text_of(page.one("h1")) == "From attempt 1 to attempt 2"
    assert "Passed before, fails now ✗ secret_1" in page.text
    assert "Failed before, passes now ✓ secret_2" in page.text
    assert "secret_3" not in page.text
    assert "-b = 2 +b = '<&>'" in page.text
    assert page.by_id("to-after").get("href") == second


def test_times_are_compared_by_shape(site: Site) -> None:
    judged(site, "a", PASSED, time_us=200)
    page = site.get(judged(site, "a", PASSED, time_us=80) + "/changes")
    assert "8 × 256 float32 200 µs 80 µs 2.5×" in page.text
    assert "The code is the same." in page.text


def test_only_what_was_graded_to_its_end_is_compared(site: Site) -> None:
    first = judged(site, "a", PASSED)
    site.get(f"{first}/changes", 404)
    ours = site.submit("b")
    site.worker.take(ours).give_back(max_attempts=1)
    site.get(f"/submissions/{ours}/changes", 404)
    running = site.submit("c")
    site.worker.take(running)
    site.get(f"/submissions/{running}/changes", 404)
    third = judged(site, "d", PASSED)
    assert site.get(f"{third}/changes").all(f"a[@href='{first}']")


def test_a_student_sees_no_more_of_hidden_tests_than_before(sign_in: Callable[..., Site]) -> None:
    ada = sign_in("ada")
    judged(ada, "a", PASSED, PASSED)
    path = judged(ada, "b", PASSED, FAILED) + "/changes"
    page = ada.get(path)
    assert "secret_2" not in page.text
    assert "Passed before, fails now" in page.text
    bob = sign_in("bob")
    bob.get(path, 404)
    assert not bob.get(judged(bob, "b", PASSED)).all("a[@id='compare']"), "others' attempts are not one's own"
    assert "secret_2" in sign_in("grace", Role.INSTRUCTOR).get(path).text


def test_another_version_of_the_drill_has_other_tests(site: Site) -> None:
    judged(site, "a", PASSED, FAILED)
    with resources_of(site.client).store.transaction() as session:
        builders.add_drill(session, builders.toy_package(statement="Copy it. Basics, edges."))
    page = site.get(judged(site, "b", FAILED, PASSED) + "/changes")
    assert "changed from version 1 to version 2" in page.text
    assert "secret" not in page.text
    assert "-a +b" in page.text


def test_code_that_is_too_long_is_not_compared(site: Site) -> None:
    judged(site, "a\n" * 3000, PASSED)
    assert "too long to be compared" in site.get(judged(site, "a", PASSED) + "/changes").text
