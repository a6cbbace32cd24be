"""One warm supervisor for all tests that grade for real, behind the real sandbox."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import pytest

from graders.limits import Limits
from graders.package import Package
from graders.report import CaseResult, Report
from graders.verdict import Lane, State
from tests.container import in_tier
from tests.worker.forking import forking
from worker.job import Job
from worker.supervisor.supervisor import Supervisor

Grade = Callable[..., Report]

TEST_LIMITS = {"case_s": 4.0, "compile_s": 20.0, "grading_s": 60.0, "host_memory_mib": 768, "tasks": 64}
"""Small enough for endless submissions, large enough for right ones on a slow machine."""


class Quiet:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.states: list[State] = []
        self.cases: list[CaseResult] = []
        self.stop = False

    def state(self, state: State) -> None:
        self.states.append(state)

    def case(self, result: CaseResult) -> None:
        self.cases.append(result)

    def cancelled(self) -> bool:
        return self.stop


def make_job(source: str, package: Package, **limits: object) -> Job:
    """A job with test-sized limits."""
    base = package.manifest.limits_for(Lane.INTERPRETER)
    return Job(
        id="test",
        slug=package.slug,
        version=1,
        digest=package.digest,
        attempt=1,
        source=source,
        seed=secrets.token_hex(16),
        lane=Lane.INTERPRETER,
        limits=Limits(**(base.model_dump() | TEST_LIMITS | limits)),
        sandbox="A",
    )


@pytest.fixture(scope="session")
def package() -> Package:
    return Package.from_tree("t2_softmax")


@contextmanager
def warm_supervisor(tier: str, interpreters: int = 1, *, forked: Collection[str] = ()) -> Iterator[Supervisor]:
    """A supervisor in a tier, in the setting that the tier is for; runners of the kinds ``forked`` need not import
    torch."""
    with in_tier(tier) as real, forking(real, forked) as sandbox:
        supervisor = Supervisor(Lane.INTERPRETER, {"interpreter": interpreters, "compiler": 1}, sandbox=sandbox)
        try:
            supervisor.warm_up()
            yield supervisor
        finally:
            supervisor.close()


@pytest.fixture(scope="session")
def supervisor(request: pytest.FixtureRequest) -> Iterator[Supervisor]:
    """In tier A, or in the one that ``--tier`` names."""
    with warm_supervisor(request.config.getoption("tier"), interpreters=2) as supervisor:
        yield supervisor


@pytest.fixture
def grade(supervisor: Supervisor, package: Package) -> Grade:
    """Grade a source for real: ``grade(source, **limits) -> Report``."""

    def run(source: str, **limits: object) -> Report:
        return supervisor.grade(make_job(source, package, **limits), package.to_zip(), Quiet())

    return run
