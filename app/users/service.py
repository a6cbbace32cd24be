"""Accounts. The caller commits."""

from __future__ import annotations

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.access.principals import Role
from app.access.service import RESERVED_NAMES, issue_token
from app.errors import Problem
from app.store.models import Token, User


def create_user(session: Session, name: str, role: Role) -> tuple[User, Token, str]:
    """Make an account with its first token, whose text is returned here and never again.

    Raises Problem(name-taken).
    """
    if name in RESERVED_NAMES:
        raise _taken(name)
    user = User(name=name, role=role.value)
    try:
        with session.begin_nested():
            session.add(user)
    except IntegrityError:
        raise _taken(name) from None
    token, secret = issue_token(session, user.id, "first")
    return user, token, secret


def _taken(name: str) -> Problem:
    return Problem("name-taken", f"There is a user {name!r} already.")
