"""Lists of submissions: what a page costs does not grow with what there is."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest

from app.access.principals import Role
from app.store.engine import Store
from app.submissions import views
from tests import builders
from tests.databases import ON_SQLITE
from tests.statements import recorded


@ON_SQLITE
@pytest.mark.parametrize("filters", [{}, {"drill": "toy"}, {"user": "ada"}, {"cursor": UUID(int=2**128 - 1)}], ids=str)
@pytest.mark.parametrize("role", [Role.STUDENT, Role.INSTRUCTOR])
def test_a_page_is_read_without_the_rest(store: Store, filters: dict[str, Any], role: Role) -> None:
    with store.transaction() as session:
        builders.add_drill(session)
        ada = builders.add_user(session, "ada", role)
        builders.add_submission(session, ada)
    with store.reading() as session, recorded(store.engine) as statements:
        assert len(views.listing(session, ada, **filters).items) == 1
    plans = statements.plans()
    assert "SCAN gradings" not in plans
    one_users = role is Role.STUDENT or "user" in filters
    assert one_users or not [step for step in plans if "TEMP B-TREE" in step], (
        "nothing is sorted but what is one user's"
    )
    assert not [text for text, _ in statements.sent if re.search(r"\b(source|report)\b", text)]
