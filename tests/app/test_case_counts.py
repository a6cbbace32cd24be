"""How many tests a drill version has, from who has told it."""

from __future__ import annotations

from sqlalchemy import select

from app.access.principals import Role
from app.drills import versions
from app.drills.case_counts import known_cases
from app.store.engine import Store
from app.store.models import DrillVersion
from graders.report import Cause
from graders.verdict import Verdict
from tests import builders
from tests.played import PlayedWorker
from tests.uploads import toy_upload
from tests.validated import PlayedValidation, validation_report


def known(store: Store, version_id: str) -> int | None:
    with store.reading() as session:
        return known_cases(session, session.get_one(DrillVersion, version_id))


def test_a_validation_tells_it(store: Store) -> None:
    with store.transaction() as session:
        ines = builders.add_user(session, "ines", Role.INSTRUCTOR)
        version_id = versions.upload(session, ines, toy_upload()).version.id
    assert known(store, version_id) is None
    PlayedValidation(store, version_id).finish(validation_report())
    assert known(store, version_id) == 2


def test_a_grading_tells_it_unless_the_judge_failed(store: Store) -> None:
    with store.transaction() as session:
        builders.add_drill(session)
        ada = builders.add_user(session)
        first, second = (builders.add_submission(session, ada).submission_id for _ in range(2))
        version_id = session.scalars(select(DrillVersion.id)).one()
    worker, cause = PlayedWorker(store), Cause(key="judge.failed")
    failed = builders.report([], verdict=Verdict.JUDGE_ERROR, score=0, cause=cause, expected_cases=0)
    worker.take(first).finish(failed)
    assert known(store, version_id) is None
    worker.take(second).finish(builders.report())
    assert known(store, version_id) == 1


def test_a_report_that_quotes_a_nul_is_read_all_the_same(store: Store) -> None:
    with store.transaction() as session:
        builders.add_drill(session)
        submitted = builders.add_submission(session, builders.add_user(session))
        version_id = session.scalars(select(DrillVersion.id)).one()
    nul = Cause(key="case.exception", params={"message": "\0"})
    PlayedWorker(store).take(submitted.submission_id).finish(builders.report([builders.passed_case(cause=nul)]))
    assert known(store, version_id) == 1
