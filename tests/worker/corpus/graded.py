"""What is asked of every drill's corpus: each submission once, through supervisor, judge and sandbox.

One file a drill, so that they run beside each other. Runners are forked (see ``forking``): a corpus is about what the
judge finds, and attacks nothing.
"""

from __future__ import annotations

from pathlib import Path

from graders.corpus import Specimen, corpus
from graders.package import Package
from graders.report import Report
from graders.verdict import CaseStatus, Lane, Verdict
from tests.worker.conftest import Quiet, make_job
from worker.supervisor.supervisor import Supervisor

GRADERS = Path(__file__).parents[3] / "graders"
ENDLESS, WHOLE = {"case_s": 2.0}, {"case_s": 12.0}
"""A submission that is there to run out of its time need not be given much of it. No other may run out of it, be the
machine as busy as it likes with rows of a million elements."""


class GradedOnce:
    """Grades each submission of a drill when it is first asked for, and keeps the report."""

    def __init__(self, slug: str, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._package = Package.from_tree(slug)
        self._reports: dict[str, Report] = {}

    def report(self, specimen: Specimen) -> Report:
        if specimen.name not in self._reports:
            endless = Verdict.TIME_LIMIT in specimen.expectation.verdicts_in(Lane.INTERPRETER)
            job = make_job(specimen.path.read_text("utf-8"), self._package, **(ENDLESS if endless else WHOLE))
            self._reports[specimen.name] = self._supervisor.grade(job, self._package.to_zip(), Quiet())
        return self._reports[specimen.name]


class CorpusOf:
    """The tests of the drill ``slug``, which is promised so many submissions at least."""

    slug: str
    least_accepted: int
    least_others: int

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        return tuple(corpus(GRADERS / cls.slug / "submissions"))

    def test_the_verdict_is_the_expected_one(self, graded: GradedOnce, specimen: Specimen) -> None:
        expected = specimen.expectation
        report = graded.report(specimen)
        assert report.verdict in expected.verdicts_in(Lane.INTERPRETER), report.cause or failed_categories(report)
        if report.verdict is Verdict.ACCEPTED:
            assert report.score == report.max_score == 70
            assert report.performance.pending_points == 30
        if expected.fails is not None and report.cases:
            assert failed_categories(report) == expected.fails
        if expected.misconception is not None and report.cases:
            assert expected.misconception in [item.misconception for item in report.diagnoses]
        assert report.verdict is not Verdict.JUDGE_ERROR

    def test_every_case_is_failed_by_a_wrong_answer(self, graded: GradedOnce) -> None:
        wrong = [item for item in self.specimens() if item.path.parent.name == "wrong_answer"]
        cases = [case for specimen in wrong for case in graded.report(specimen).cases]
        judged = {case.name for case in cases if case.status is not CaseStatus.SKIPPED}
        assert judged
        assert judged == {case.name for case in cases if case.status is CaseStatus.FAILED}

    def test_it_is_as_large_as_promised(self) -> None:
        accepted = [item for item in self.specimens() if Verdict.ACCEPTED in item.expectation.verdicts]
        assert len(accepted) >= self.least_accepted
        assert len(self.specimens()) - len(accepted) >= self.least_others


def failed_categories(report: Report) -> set[str]:
    return {case.category for case in report.cases if case.status in (CaseStatus.FAILED, CaseStatus.ERROR)}
