"""Accounts. The caller commits."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.access.principals import Role
from app.access.service import RESERVED_NAMES, issue_token
from app.errors import Problem
from app.store.models import Token, User


def create_user(session: Session, name: str, role: Role) -> tuple[User, Token, str]:
    """Make an account with its first token, whose text is returned here and never again.

    Raises Problem(name-taken).
    """
    taken = name in RESERVED_NAMES or session.scalars(select(User.id).where(User.name == name)).first() is not None
    if taken:
        raise Problem("name-taken", f"There is a user {name!r} already.")
    user = User(name=name, role=role.value)
    session.add(user)
    session.flush()
    token, secret = issue_token(session, user.id, "first")
    return user, token, secret
