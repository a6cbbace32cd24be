"""A submission's page in every state, and who sees what of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.access.principals import Role
from graders.report import (
    Annotation,
    CaseResult,
    CategoryResult,
    Cause,
    DeviceConditions,
    Diagnosis,
    KernelResources,
    Message,
    Mismatch,
    Performance,
    PerformanceStatus,
    Severity,
    ShapeTiming,
    Timeline,
    WrongElement,
)
from graders.verdict import CaseStatus, State, Verdict, Visibility
from tests import builders
from tests.pages.conftest import Site
from tests.pages.document import Document, text_of

SCRIPT = "<script>alert('核')</script>"
MISMATCH = Mismatch(
    count=3,
    total=8,
    max_abs=0.25,
    max_ulp=7.0,
    mean_abs=0.0625,
    first=WrongElement(index=[1, 2], expected="0.125", got="0.375", allowed=2.5e-6),
    more=[WrongElement(index=[1, 3], expected="0", got="nan")],
    pattern="pattern.tail_columns",
)


def failed(ordinal: int, visibility: Visibility = Visibility.PUBLIC, **changes: Any) -> CaseResult:
    values = {
        "status": CaseStatus.FAILED,
        "verdict": Verdict.WRONG_ANSWER,
        "points": 0,
        "cause": Cause(key="case.wrong", params={"count": 3, "total": 8}, hint_key="hint.masks"),
        "mismatch": MISMATCH,
    }
    return builders.passed_case(ordinal, visibility, **(values | changes))


def judged(site: Site, cases: list[CaseResult] | None = None, *, drill: str = "toy", **changes: Any) -> str:
    """A submission that is done. Returns its path."""
    submission_id = site.submit(drill=drill)
    if cases is not None and any(case.status is not CaseStatus.PASSED for case in cases):
        changes = {"verdict": Verdict.WRONG_ANSWER, **changes}
    site.worker.take(submission_id).finish(builders.report(cases, **changes))
    return f"/submissions/{submission_id}"


def refreshes(page: Document) -> bool:
    return bool(page.all("noscript/meta"))


def test_a_queued_one_says_where_it_stands(site: Site) -> None:
    site.submit()
    page = site.get(f"/submissions/{site.submit()}")
    assert text_of(page.one("h1")) == "… Waiting for a worker"
    assert "Number 2 in the queue" in page.text
    assert "No worker is there" in page.text
    assert "Attempt 2" in page.text
    assert refreshes(page)


def test_a_queued_one_with_a_worker_just_waits(site: Site) -> None:
    path = f"/submissions/{site.submit()}"
    assert site.worker
    assert "No worker is there" not in site.get(path).text


def test_a_running_one_shows_what_is_known(site: Site) -> None:
    submission_id = site.submit()
    grading = site.worker.take(submission_id)
    page = site.get(f"/submissions/{submission_id}")
    assert text_of(page.one("h1")) == "… Compiling"
    grading.state(State.TESTING)
    grading.case(builders.passed_case(1))
    grading.case(failed(2))
    page = site.get(f"/submissions/{submission_id}")
    assert "Running the tests" in page.text
    assert "Tests done so far: 2 Cancel" in page.text
    assert len(page.all("ol[@class='strip']/li")) == 2
    assert refreshes(page)
    assert page.one("main").get("data-events", "").startswith(f"/api/v1/submissions/{submission_id}/events?after=")


def test_how_many_tests_there_are_is_known_from_an_earlier_grading(site: Site) -> None:
    judged(site, [], verdict=Verdict.COMPILE_ERROR, score=0, cause=Cause(key="judge.failed"), expected_cases=5)
    submission_id = site.submit()
    grading = site.worker.take(submission_id)
    grading.case(builders.passed_case(1))
    assert "Tests done so far: 1 of 5" in site.get(f"/submissions/{submission_id}").text


def test_an_accepted_one_says_so_first(site: Site) -> None:
    cases = [builders.passed_case(1), builders.passed_case(2, Visibility.HIDDEN)]
    page = site.get(judged(site, cases, score=60))
    assert text_of(page.one("h1")) == "✓ Accepted"
    assert "60 / 60 points" in page.text
    assert "1 of 1 hidden tests passed" in page.text
    assert "40 points for speed were not judged" in page.text
    assert "Speed is measured on a GPU, and this worker has none." in page.text
    assert not refreshes(page)
    assert page.one("main").get("data-events") is None
    assert not page.all("*[@id='cancel']")
    assert (page.by_id("resubmit").get("href") or "").startswith("/drills/toy?from=")


def test_a_failed_case_says_why_and_the_first_one_is_open(site: Site) -> None:
    page = site.get(judged(site, [builders.passed_case(1), failed(2), failed(3)]))
    row = text_of(page.by_id("case-2"))
    for text in (
        "✗ failed",
        "3 of 8 elements are further from the right answer",
        "Check the mask",
        "The last columns are wrong",
        "[1, 2]",
        "0.125",
        "0.375",
        "2.5e-06",
        "Mean error 0.0625",
        "[1, 3]",
        "nan",
        "0.25",
        "printed",
    ):
        assert text in row
    assert page.by_id("more-2").get("open") is not None
    assert page.by_id("more-3").get("open") is None
    assert page.by_id("mark-2").get("href") == "#case-2"


def test_a_compile_error_stands_at_its_line(site: Site) -> None:
    message = {"message": SCRIPT, "line": 2}
    page = site.get(
        judged(
            site,
            [],
            verdict=Verdict.COMPILE_ERROR,
            score=0,
            cause=Cause(key="compile.syntax", params=message, hint_key="hint.compiler"),
            annotations=[Annotation(key="compile.syntax", params=message, line=2, severity=Severity.ERROR)],
            expected_cases=5,
        )
    )
    assert f"Python cannot read line 2: {SCRIPT}" in page.text
    assert "The GPU compiler is stricter" in page.text
    notes = page.all("span[@class='note is-error']")
    assert [text_of(note) for note in notes] == [f"▲ Error: Python cannot read line 2: {SCRIPT}"]
    assert page.by_id("L2").get("class") == "line is-error"
    assert not page.all("section[@aria-labelledby='categories']")


def test_a_note_beyond_the_end_stands_at_the_last_line(site: Site) -> None:
    note = Annotation(key="annotation.kernel", params={"message": "m"}, line=99, severity=Severity.WARNING)
    page = site.get(judged(site, annotations=[note]))
    assert page.by_id("L2").get("class") == "line is-warning"


def test_a_diagnosis_names_the_mistake_and_where_to_look(site: Site) -> None:
    diagnosis = Diagnosis(
        misconception="padding_zero",
        evidence=Message(key="misconception.padding_zero.evidence", params={"count": 1}),
        hint_key="misconception.padding_zero.hint",
        cases=[1],
        lines=[2],
    )
    params = {"misconception": "padding_zero"}
    note = Annotation(key="annotation.misconception", params=params, line=2, severity=Severity.WARNING)
    case = failed(1, misconception="padding_zero")
    page = site.get(judged(site, [case], drill="t2_softmax", diagnoses=[diagnosis], annotations=[note]))
    assert "Padding filled with 0" in page.text
    assert "Fill with -inf" in page.text
    assert "▲ Warning: This line may be what the diagnosis is about." in page.text
    assert {"#L2", "#case-1", "#diagnoses"} <= {link.get("href") for link in page.all("main//a")}


def test_an_exception_leads_to_its_line(site: Site) -> None:
    cause = Cause(key="case.exception", params={"exception": "ValueError", "line": 2, "message": SCRIPT})
    case = failed(1, status=CaseStatus.ERROR, verdict=Verdict.RUNTIME_ERROR, cause=cause, mismatch=None, stdout=None)
    page = site.get(judged(site, [case], verdict=Verdict.RUNTIME_ERROR))
    row = page.by_id("case-1")
    assert f"ValueError in line 2: {SCRIPT}" in text_of(row)
    assert row.find(".//a[@href='#L2']") is not None


def test_our_own_failure_looks_different(site: Site) -> None:
    submission_id = site.submit()
    site.worker.take(submission_id).give_back(max_attempts=1)
    page = site.get(f"/submissions/{submission_id}")
    assert text_of(page.one("h1")) == "⚙ Judge error"
    assert "The judge failed, not you." in page.text
    assert "tried again" not in page.text, "nothing tries it again"
    assert "No attempt was used" in page.text
    assert submission_id in text_of(page.one("div[@class='banner is-judge_error']"))
    assert "0 / " not in page.text
    assert "the <judge> died" in page.text  # the local user is staff


def test_what_needs_a_gpu_is_to_be_sent_again_when_one_is_there(site: Site) -> None:
    cause = Cause(key="judge.kernel_not_compiled")
    page = site.get(judged(site, [], verdict=Verdict.JUDGE_ERROR, score=0, cause=cause, expected_cases=1))
    assert "Submit the same code again when a worker with a GPU is there." in page.text


def test_a_cancelled_one_is_neither_right_nor_wrong(site: Site) -> None:
    submission_id = site.submit()
    page = site.get(f"/submissions/{submission_id}")
    (form,) = [form for form in page.all("main//form") if form.find("button[@id='cancel']") is not None]
    answer = site.send(form.get("action", ""))
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/submissions/{submission_id}")
    page = site.get(f"/submissions/{submission_id}")
    assert text_of(page.one("h1")) == "⊘ Cancelled"
    assert "No attempt was used" in page.text
    assert "Attempt 1" not in page.text


def test_one_that_is_cancelled_while_it_runs_used_an_attempt(site: Site) -> None:
    submission_id = site.submit()
    grading = site.worker.take(submission_id)
    site.send(f"/submissions/{submission_id}/cancel")
    grading.cancelled()
    page = site.get(f"/submissions/{submission_id}")
    assert text_of(page.one("h1")) == "⊘ Cancelled"
    assert "Attempt 1" in page.text
    assert "No attempt was used" not in page.text


def test_cancelling_a_running_one_takes_a_moment(site: Site) -> None:
    submission_id = site.submit()
    site.worker.take(submission_id)
    site.send(f"/submissions/{submission_id}/cancel")
    page = site.get(f"/submissions/{submission_id}")
    assert "This is being cancelled." in page.text
    assert not page.all("*[@id='cancel']")


def test_cancelling_too_late_shows_the_result(site: Site) -> None:
    path = judged(site)
    assert site.send(f"{path}/cancel").headers["Location"] == path


def test_tables_of_points_kernels_and_circumstances(site: Site) -> None:
    categories = [
        CategoryResult(
            name="basic", visibility=Visibility.PUBLIC, points=2.5, max_points=20, passed=1, judged=8, skipped=1
        )
    ]
    kernels = [
        KernelResources(name="a_kernel", target="sm_90", num_warps=4, registers=29, spill_bytes=8, shared_bytes=None)
    ]
    page = site.get(judged(site, categories=categories, kernels=kernels, output="at import\n"))
    assert "Basics 2.5 / 20 1 / 8 1" in page.text
    assert "a_kernel sm_90 4 29 8 B –" in page.text
    assert "at import" in page.text
    for text in ("In the interpreter", "torch 2.13", "Triton 3.9", "Sandbox A", "Taken by a worker"):
        assert text in page.text
    phases = {"compile": 1, "test": 2, "measure": 3, "diagnose": 4, "submission": 5, "of a newer judge": 6}
    page = site.get(judged(site, timeline=Timeline(phases_ms=phases)))
    assert "Diagnosis took 4 ms Of that, your own code took 5 ms of a newer judge 6 ms" in page.text


def test_measured_speed_is_a_table(site: Site) -> None:
    shape = ShapeTiming(
        name="wide",
        shape=[4096, 8192],
        dtype="float16",
        time_us=51.25,
        spread=0.01,
        reference_us=50,
        torch_us=62.5,
        ratio=0.976,
        gbps=2619.5,
        fraction_of_copy=0.91,
        half_width=0.004,
        rounds=20,
    )
    performance = Performance(
        status=PerformanceStatus.MEASURED,
        points=30,
        max_points=40,
        ratio=0.98,
        ratio_ci=(0.97, 0.99),
        shapes=[shape],
        conditions=DeviceConditions(
            sm_clock_mhz=1980,
            lowest_sm_clock_mhz=1410,
            memory_clock_mhz=3201,
            highest_temperature_c=71,
            highest_power_w=698.4,
            throttled_rounds=3,
            throttle_reasons=["power_cap"],
        ),
    )
    page = site.get(judged(site, performance=performance))
    assert "0.98 (0.97 – 0.99) · 30 / 40 points" in page.text
    assert "4096 × 8192 float16 51.2 µs ± 1 % 50 µs 62.5 µs 0.976 ± 0.4 % 2620 91 %" in page.text
    assert "GB/s at each shape" in page.text
    assert len(page.all("rect")) == 2, "the legend's and the shape's"
    assert "SM clock 1980 MHz · 71 °C · 698 W · The GPU held itself back (power_cap)" in page.text


def test_what_a_student_wrote_is_only_text(site: Site) -> None:
    source = f"x = '{SCRIPT}'\t# \u202e\x1b[31m\u00e9\U0001f600 &amp; </pre></code>\n"
    submission_id = site.submit(source)
    case = failed(1, name=f"{SCRIPT}_\u200b", stdout=f"{SCRIPT}\r\x00\x07\u2066 </pre>")
    report = builders.report([case], verdict=Verdict.WRONG_ANSWER, output=SCRIPT)
    site.worker.take(submission_id).finish(report)
    page = site.get(f"/submissions/{submission_id}")
    line = "".join(page.by_id("L1").itertext())
    assert line == f"x = '{SCRIPT}'\t# ⟨U+202E⟩⟨U+001B⟩[31m\u00e9\U0001f600 &amp; </pre></code>\n"
    assert f"{SCRIPT}\n⟨U+0000⟩⟨U+0007⟩⟨U+2066⟩ </pre>" in "".join(page.by_id("case-1").itertext())
    assert f"{SCRIPT}_⟨U+200B⟩" in page.text
    assert len(page.all("script")) == 1


def test_a_student_sees_what_visibility_allows(sign_in: Callable[..., Site]) -> None:
    ada = sign_in("ada")
    secret = Cause(key="case.exception", params={"exception": "E", "line": 1, "message": "S3CRET"})
    cases = [
        failed(1, Visibility.HINTED, stdout="S3CRET", cause=secret),
        failed(2, Visibility.HIDDEN, name="S3CRET", stdout="S3CRET", cause=secret),
        builders.passed_case(3, Visibility.HIDDEN, name="S3CRET", stdout="S3CRET"),
    ]
    path = judged(ada, cases)
    page = ada.get(path)
    assert "S3CRET" not in page.text
    assert "0.375" not in page.text
    assert "The last columns are wrong" in text_of(page.by_id("case-1"))
    assert "A hidden test has a wrong answer." in text_of(page.by_id("case-2"))
    assert "1 of 2 hidden tests passed" in page.text
    assert "Seed" not in page.text
    staff = sign_in("grace", Role.INSTRUCTOR).get(path)
    assert "S3CRET" in staff.text
    assert "Seed" in staff.text
    assert "ada" in staff.text


def test_a_student_sees_it_while_it_runs_as_well(sign_in: Callable[..., Site]) -> None:
    ada = sign_in("ada")
    submission_id = ada.submit()
    ada.worker.take(submission_id).case(failed(1, Visibility.HIDDEN, name="S3CRET", stdout="S3CRET"))
    assert "S3CRET" not in ada.get(f"/submissions/{submission_id}").text


def test_what_others_sent_is_not_found(sign_in: Callable[..., Site]) -> None:
    path = judged(sign_in("ada"))
    bob = sign_in("bob")
    bob.get(path, 404)
    bob.post(f"{path}/cancel", 404)
    bob.get("/submissions/nope", 404)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_verdict_has_a_page_in_both_languages(site: Site, language: str) -> None:
    for verdict in set(Verdict) - {Verdict.ACCEPTED}:
        path = judged(site, [], verdict=verdict, score=0, cause=Cause(key="judge.failed"), expected_cases=1)
        page = site.get(path, headers={"Accept-Language": language})
        assert page.all(f"div[@class='banner is-{verdict}']")
