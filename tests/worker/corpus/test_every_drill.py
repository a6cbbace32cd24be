"""No drill that ships is left out, nor is any graded by forked runners alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from graders.corpus import corpus
from graders.package import built_in_drills
from graders.verdict import Verdict
from tests.worker.corpus.graded import GRADERS, GradedOnce
from worker.supervisor.supervisor import Supervisor


def test_every_drill_has_its_corpus_graded() -> None:
    tested = {file.stem.removeprefix("test_") for file in Path(__file__).parent.glob("test_*.py")}
    assert set(built_in_drills()) == tested - {"every_drill"}


@pytest.mark.parametrize("slug", built_in_drills())
def test_a_right_submission_is_accepted_by_runners_that_are_started_for_it(supervisor: Supervisor, slug: str) -> None:
    right = next(item for item in corpus(GRADERS / slug / "submissions") if item.path.parent.name == "accepted")
    assert GradedOnce(slug, supervisor).report(right).verdict is Verdict.ACCEPTED
