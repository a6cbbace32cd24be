"""A test that takes a ``specimen`` runs for each submission of its class's drill."""

from __future__ import annotations

import pytest

from tests.worker.corpus.graded import GradedOnce
from worker.supervisor.supervisor import Supervisor


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "specimen" in metafunc.fixturenames:
        metafunc.parametrize("specimen", metafunc.cls.specimens(), ids=lambda specimen: specimen.name)


@pytest.fixture(scope="class")
def graded(request: pytest.FixtureRequest, supervisor: Supervisor) -> GradedOnce:
    return GradedOnce(request.cls.slug, supervisor)
