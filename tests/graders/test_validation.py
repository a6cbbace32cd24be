"""The validation report: its sentences, and what it calls valid."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from graders.catalogue import LOCALES, judge_catalogue
from graders.report import Message
from graders.validation import QUOTED_CHARACTERS, Finding, FindingCode, Severity, SubmissionOutcome, ValidationReport
from graders.verdict import Lane, Verdict

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ERROR = Finding.of(FindingCode.NOT_CAUGHT, submission="wrong_answer/a", expected="wrong_answer", claims="basic")
WARNING = Finding.of(FindingCode.CASE_CATCHES_NOTHING, case="basic/one", category="basic")


def report(*findings: Finding, complete: bool = True) -> ValidationReport:
    return ValidationReport(
        slug="tiny",
        digest="d",
        lane=Lane.INTERPRETER,
        complete=complete,
        findings=list(findings),
        started_at=NOW,
        finished_at=NOW,
    )


def test_every_code_has_its_sentences_and_every_sentence_its_code():
    for table in ("validation", "validation_cure"):
        keys = {key for key in judge_catalogue().keys("en") if key.startswith(f"{table}.")}
        assert keys == {f"{table}.{code}" for code in FindingCode}


def test_errors_block_and_warnings_do_not():
    assert report(WARNING).valid
    assert not report(WARNING, ERROR).valid
    assert not report(complete=False).valid
    assert report(WARNING, ERROR).errors == [ERROR]
    assert report(WARNING, ERROR).warnings == [WARNING]


def test_a_report_survives_json():
    full = report(WARNING, ERROR)
    assert ValidationReport.model_validate_json(full.model_dump_json()) == full


def test_a_code_has_one_severity():
    with pytest.raises(ValidationError, match="not_caught is always error"):
        Finding(code=FindingCode.NOT_CAUGHT, severity=Severity.WARNING)


@pytest.mark.parametrize("locale", LOCALES)
def test_a_sentence_is_given_what_the_finding_is_about(locale: str):
    sentence, cure = ERROR.told(judge_catalogue(), locale)
    assert "wrong_answer/a" in sentence
    assert cure
    assert "{" not in sentence + cure


def test_a_finding_quotes_no_more_than_anybody_reads():
    code, much = FindingCode.HEADER_UNKNOWN_CATEGORY, "x" * 1_000_000
    clipped = Finding.of(code, category=much, reason=much, bytes=7)
    assert len(clipped.model_dump_json()) < 3 * QUOTED_CHARACTERS
    assert Finding.model_validate_json(clipped.model_dump_json()) == clipped
    assert Finding.of(code, reason=much[:QUOTED_CHARACTERS]).params == {"reason": much[:QUOTED_CHARACTERS]}


def test_the_judges_reason_is_told_in_the_readers_language():
    cause = Message(key="case.time_limit", params={"limit_s": 3.0})
    finding = Finding.of(FindingCode.REFERENCE_REFUSED, cause=cause, verdict="time_limit")
    for locale in LOCALES:
        assert judge_catalogue().render(cause.key, cause.params, locale) in finding.told(judge_catalogue(), locale)[0]


def test_a_place_is_written_as_compilers_do():
    assert Finding.of(FindingCode.PYTHON_SYNTAX, file="cases.py", line=3, message="m").place == "cases.py:3"
    assert Finding.of(FindingCode.FILE_MISSING, file="cases.py").place == "cases.py"
    assert WARNING.place == ""


@pytest.mark.parametrize(
    ("changed", "as_expected"),
    [
        ({}, True),
        ({"got": None}, False),
        ({"got": Verdict.ACCEPTED}, False),
        ({"failed_categories": ["basic", "other"]}, False),
        ({"expected_categories": None, "failed_categories": ["other"]}, True),
        ({"expected_misconception": "padding"}, False),
        ({"expected_misconception": "padding", "misconceptions": ["other", "padding"]}, True),
    ],
)
def test_an_outcome_is_as_expected_in_verdict_categories_and_misconception(
    changed: dict[str, object], as_expected: bool
):
    outcome = SubmissionOutcome(
        name="wrong_answer/a",
        expected=[Verdict.WRONG_ANSWER],
        got=Verdict.WRONG_ANSWER,
        expected_categories=["basic"],
        failed_categories=["basic"],
    )
    assert outcome.model_copy(update=changed).as_expected is as_expected
