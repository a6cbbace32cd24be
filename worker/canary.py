"""A grading whose verdict is known: a worker that gets it wrong must not judge anybody."""

from __future__ import annotations

import secrets

from graders.package import Package
from graders.report import CaseResult
from graders.verdict import Lane, State, Verdict
from worker.job import Job
from worker.supervisor.supervisor import JudgeFailed, Supervisor

DRILL = "t2_softmax"


class _Nobody:
    """A listener for whom nothing is told."""

    def state(self, state: State) -> None:
        """Not told."""

    def case(self, result: CaseResult) -> None:
        """Not told."""

    def cancelled(self) -> bool:
        return False


def require_canary(supervisor: Supervisor, lane: Lane, sandbox: str) -> None:
    """Grade the reference kernel of a built-in drill, unmeasured. Raises JudgeFailed unless it is accepted."""
    package = Package.from_tree(DRILL)
    job = Job(
        id="canary",
        slug=package.slug,
        version=0,
        digest=package.digest,
        attempt=1,
        source=package.files[f"reference/{DRILL}.py"].decode(),
        seed=secrets.token_hex(16),
        lane=lane,
        limits=package.manifest.limits_for(lane),
        sandbox=sandbox,
        measure=False,
    )
    report = supervisor.grade(job, package.to_zip(), _Nobody())
    if report.verdict is not Verdict.ACCEPTED:
        raise JudgeFailed(f"the canary was judged {report.verdict}, not accepted: {report.cause}")
