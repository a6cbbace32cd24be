"""On every database that is given."""

from __future__ import annotations

import pytest

from tests.databases import KINDS


@pytest.fixture(params=KINDS)
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)
