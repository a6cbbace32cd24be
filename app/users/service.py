"""Accounts. The caller commits."""

from __future__ import annotations

from sqlalchemy import or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.access.principals import Principal, Role
from app.access.service import RESERVED_NAMES, issue_token, revoke_others
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


def find_user(session: Session, user: str) -> User:
    """The account of that name, else of that id. Raises Problem(not-found)."""
    found = {row.name: row for row in session.scalars(select(User).where(or_(User.name == user, User.id == user)))}
    if not found:
        raise Problem("not-found", f"There is no user {user!r}.")
    return found.get(user) or next(iter(found.values()))


def account_of(session: Session, principal: Principal, user: str | None) -> str:
    """The id of the account whose tokens are meant: one's own, or as an administrator that of ``user``.

    Raises Problem(forbidden, not-found).
    """
    if user is None:
        return principal.user_id
    principal.require(Role.ADMIN)
    return find_user(session, user).id


def replace_token(session: Session, user: str, name: str, *, revoke: bool) -> str:
    """Make a token for an account whose own are lost, or leaked: then ``revoke`` ends all its others.

    Returns its text. Raises Problem(not-found).
    """
    token, secret = issue_token(session, find_user(session, user).id, name)
    if revoke:
        revoke_others(session, token)
    return secret


def _taken(name: str) -> Problem:
    return Problem("name-taken", f"There is a user {name!r} already.")
