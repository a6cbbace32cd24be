"""A test that takes a ``specimen`` runs for each submission of its class's drill."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.worker.conftest import warm_supervisor
from tests.worker.corpus.graded import GradedOnce
from tests.worker.forking import KINDS
from worker.supervisor.supervisor import Supervisor


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "specimen" in metafunc.fixturenames:
        metafunc.parametrize("specimen", metafunc.cls.specimens(), ids=lambda specimen: specimen.name)


@pytest.fixture(scope="session")
def forking_supervisor(request: pytest.FixtureRequest) -> Iterator[Supervisor]:
    with warm_supervisor(request.config.getoption("tier"), interpreters=2, forked=KINDS) as supervisor:
        yield supervisor


@pytest.fixture(scope="class")
def graded(request: pytest.FixtureRequest, forking_supervisor: Supervisor) -> GradedOnce:
    return GradedOnce(request.cls.slug, forking_supervisor)
