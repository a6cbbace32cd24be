"""Fixtures of the GPU lane. They need torch, triton, pydantic and pytest, and none of the web packages."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from graders.package import Package
from graders.report import CaseResult, Report
from graders.verdict import Lane, State
from worker.job import Job
from worker.supervisor.lane import STANDBY_OF_MANY, choose_post
from worker.supervisor.supervisor import Supervisor

Grade = Callable[..., Report]
GRADERS = Path(__file__).parents[2] / "graders"
CORPUS = GRADERS / "t2_softmax/submissions"


class Silent:
    """A listener that keeps the states."""

    def __init__(self) -> None:
        self.states: list[State] = []

    def state(self, state: State) -> None:
        self.states.append(state)

    def case(self, result: CaseResult) -> None:
        """The report has it."""

    def cancelled(self) -> bool:
        return False


@pytest.fixture(scope="session")
def package() -> Package:
    return Package.from_tree("t2_softmax")


@contextmanager
def running(standby: dict[str, int]) -> Iterator[Supervisor]:
    """A supervisor with so many runners on standby."""
    post = choose_post("gpu", "auto")
    supervisor = Supervisor(Lane.GPU, standby, sandbox=post.sandbox)
    try:
        supervisor.warm_up()
        yield supervisor
    finally:
        supervisor.close()


@pytest.fixture(scope="session")
def supervisor() -> Iterator[Supervisor]:
    with running(STANDBY_OF_MANY[Lane.GPU]) as supervisor:
        yield supervisor


def grade_with(
    supervisor: Supervisor,
    package: Package,
    source: str,
    limits: Mapping[str, object],
    *,
    measure: bool,
    listener: Silent | None = None,
) -> Report:
    """Grade ``source`` on the GPU."""
    base = package.manifest.limits_for(Lane.GPU)
    job = Job(
        id="gpu",
        slug=package.slug,
        version=1,
        digest=package.digest,
        attempt=1,
        source=source,
        seed=secrets.token_hex(16),
        lane=Lane.GPU,
        limits=base.model_copy(update={"case_s": 5.0, **limits}),
        sandbox="A",
        measure=measure,
    )
    return supervisor.grade(job, package.to_zip(), listener or Silent())


@pytest.fixture
def grade(supervisor: Supervisor, package: Package) -> Grade:
    """``grade(source, measure=False, listener=None, **limits)`` on the GPU."""

    def run(source: str, *, measure: bool = False, listener: Silent | None = None, **limits: object) -> Report:
        return grade_with(supervisor, package, source, limits, measure=measure, listener=listener)

    return run
