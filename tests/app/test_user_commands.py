"""``warpgrade user``: an operator's way to accounts, where nobody has a token yet, or any more."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from app.access.service import principal_of_token
from app.cli import cli
from app.errors import Problem
from app.settings import Settings
from app.store.engine import Store
from tests import databases

User = Callable[..., str]


@pytest.fixture
def user(settings: Settings) -> User:
    """``warpgrade user``, which answers with what it prints."""
    settings.data.mkdir(parents=True)
    databases.create(settings)

    def run(*arguments: str, exit_code: int = 0) -> str:
        done = CliRunner().invoke(cli, ["user", *arguments], env=settings.environment())
        assert done.exit_code == exit_code, done.output
        return done.output.strip()

    return run


def owner(settings: Settings, secret: str) -> str | None:
    store = Store(settings.database)
    try:
        with store.reading() as session:
            return principal_of_token(session, secret).name
    except Problem:
        return None
    finally:
        store.close()


def test_a_lost_token_is_replaced_and_a_leaked_one_ended(user: User, settings: Settings) -> None:
    first, bobs = user("add", "ada", "--role", "student"), user("add", "bob", "--role", "student")
    second = user("token", "ada")
    assert [owner(settings, secret) for secret in (first, second)] == ["ada", "ada"]
    third = user("token", "ada", "--revoke-others")
    found = [owner(settings, secret) for secret in (first, second, third, bobs)]
    assert found == [None, None, "ada", "bob"]


def test_who_is_not_there_gets_no_token(user: User) -> None:
    assert user("token", "eve", exit_code=1) == "warpgrade: There is no user 'eve'."
