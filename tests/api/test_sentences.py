"""What a report says, over REST: in sentences of both languages, as far as the reader may see it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.access.principals import Role
from app.drills import service as drills
from app.gradings import service as gradings
from app.store.models import DrillVersion, Grading
from graders.package import Package
from graders.report import Annotation, Cause, Diagnosis, Message, Mismatch, Performance, PerformanceStatus, Severity
from graders.verdict import CaseStatus, Verdict, Visibility
from tests import builders
from tests.api.conftest import resources_of

SENTENCES = {
    "en": '[misconception.zero]\ntitle = "Zeros"\nevidence = "{title}, {count} times"\nhint = "Not {{0}}"\n',
    "zh": '[misconception.zero]\ntitle = "零"\nevidence = "{title},{count} 次"\nhint = "不是 {{0}}"\n',
}
HINT = {"en": "Not {0}", "zh": "不是 {0}"}


def wrong_case(ordinal: int, visibility: Visibility) -> builders.CaseResult:
    return builders.passed_case(
        ordinal,
        visibility,
        status=CaseStatus.FAILED,
        verdict=Verdict.WRONG_ANSWER,
        points=0,
        cause=Cause(
            key="case.input_changed", params={"input": "x", "index": "at [7, 7]"}, hint_key="misconception.zero.hint"
        ),
        mismatch=Mismatch(count=1, total=2, pattern="pattern.all_zero"),
        misconception="zero",
    )


REPORT = builders.report(
    [wrong_case(1, Visibility.PUBLIC), wrong_case(2, Visibility.HINTED), wrong_case(3, Visibility.HIDDEN)],
    verdict=Verdict.WRONG_ANSWER,
    score=0,
    cause=Cause(key="submission.judge_gave_up", hint_key="misconception.zero.hint"),
    notices=[Message(key="no.such_key")],
    annotations=[
        Annotation(key="annotation.misconception", params={"misconception": "zero"}, line=1, severity=Severity.WARNING)
    ],
    diagnoses=[
        Diagnosis(
            misconception="zero",
            evidence=Message(key="misconception.zero.evidence", params={"misconception": "zero", "count": 2.0}),
            hint_key="misconception.zero.hint",
            cases=[1, 2, 3],
        )
    ],
    performance=Performance(status=PerformanceStatus.NOT_REACHED, reason=Message(key="performance.not_reached")),
)


@pytest.fixture
def told(server: TestClient, sign_up: Callable[..., dict[str, str]]) -> Callable[[Role], tuple[Any, list[Any]]]:
    """The report and the events' cases, for ada or for staff."""
    headers = {Role.STUDENT: sign_up("ada"), Role.INSTRUCTOR: sign_up("ines", Role.INSTRUCTOR)}
    files = builders.toy_package().files | {
        f"graders/toy/sentences.{locale}.toml": text.encode() for locale, text in SENTENCES.items()
    }
    with resources_of(server).store.transaction() as session:
        builders.add_drill(session, Package("toy", files))
    order = {"drill": "toy", "source": builders.SOURCE}
    path = server.post("/api/v1/submissions", json=order, headers=headers[Role.STUDENT]).headers["Location"]
    with resources_of(server).store.transaction() as session:
        grading_id = session.query(Grading.id).scalar()
        claim = gradings.claim(session, grading_id, worker_id="w", lease_s=30)
        assert claim is not None
        for case in REPORT.cases:
            gradings.record_case(session, claim, case)
        assert gradings.finish(session, claim, REPORT)

    def read(role: Role) -> tuple[Any, list[Any]]:
        lines = server.get(f"{path}/events", headers=headers[role]).text.splitlines()
        data = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
        return server.get(path, headers=headers[role]).json(), [item for item in data if "ordinal" in item]

    return read


def test_every_message_has_its_sentence_in_both_languages(told: Callable[[Role], tuple[Any, list[Any]]]) -> None:
    report, events = told(Role.STUDENT)
    assert report["cause"]["text"]["en"].startswith("The judge failed several times")
    assert report["cause"]["hint"] == HINT
    assert report["notices"] == [
        {"key": "no.such_key", "params": {}, "text": {"en": "no.such_key", "zh": "no.such_key"}}
    ]
    assert report["annotations"][0]["text"]["zh"]
    (diagnosis,) = report["diagnoses"]
    assert diagnosis["title"] == {"en": "Zeros", "zh": "零"}
    assert diagnosis["evidence"]["text"] == {"en": "Zeros, 2 times", "zh": "零,2 次"}
    assert (diagnosis["evidence"]["key"], diagnosis["hint"]) == ("misconception.zero.evidence", HINT)
    assert report["performance"]["reason"]["text"]["en"]
    shown = report["cases"][0]
    assert shown["cause"]["text"]["en"] == "The input x was changed, first at at [7, 7]. Inputs are read only."
    assert shown["cause"]["hint"] == HINT
    assert shown["mismatch"]["pattern_text"]["en"] == "The output is zero nearly everywhere."
    assert events == report["cases"], "events tell them as the report does"


def test_sentences_are_made_of_what_the_reader_may_see(told: Callable[[Role], tuple[Any, list[Any]]]) -> None:
    for role, seen in ((Role.STUDENT, [True, False, False]), (Role.INSTRUCTOR, [True] * 3)):
        report, events = told(role)
        for cases in (report["cases"], events):
            assert ["[7, 7]" in case["cause"]["text"]["en"] for case in cases] == seen
    hidden = told(Role.STUDENT)[0]["cases"][2]
    assert (hidden["cause"]["hint"], hidden["mismatch"]) == (None, None)


def test_a_versions_sentences_are_read_once(server: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with resources_of(server).store.reading() as session:
        version = session.query(DrillVersion).first()
        assert version is not None
        first = drills.catalogue_of(session, version)
        monkeypatch.setattr(drills, "package_of", None)
        assert drills.catalogue_of(session, version) is first


def test_not_all_versions_sentences_are_kept(server: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drills, "_MOST_CATALOGUES", 1)
    with resources_of(server).store.reading() as session:
        versions = session.query(DrillVersion).limit(2).all()
        first = drills.catalogue_of(session, versions[0])
        drills.catalogue_of(session, versions[1])
        assert drills.catalogue_of(session, versions[0]) is not first
