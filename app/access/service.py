"""Tokens and browser sessions. Only hashes are kept: what is random and long needs no slow hash."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload

from app.access.principals import Principal, Role, Via
from app.errors import Problem
from app.store.columns import utc_now
from app.store.models import BrowserSession, Token, User

LOCAL_USER = "local"
ADMIN_USER = "admin"
RESERVED_NAMES = frozenset({LOCAL_USER, ADMIN_USER})

_ADMIN_TOKEN_NAME = "WARPGRADE_ADMIN_TOKEN"  # noqa: S105 - a name, not a secret


class TokenTaken(Exception):
    """The token has an owner already; the message says who."""


def sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def issue_token(session: Session, user_id: str, name: str) -> tuple[Token, str]:
    """Make a token for a user. Its text is returned here and never again."""
    secret = f"wg_{secrets.token_urlsafe(32)}"
    token = Token(user_id=user_id, name=name, sha256=sha256(secret))
    session.add(token)
    session.flush()
    return token, secret


def tokens_of(session: Session, user_id: str) -> list[Token]:
    """A user's tokens, oldest first."""
    return list(session.scalars(select(Token).where(Token.user_id == user_id).order_by(Token.id)))


def revoke_token(session: Session, principal: Principal, token_id: str) -> None:
    """End one of one's own tokens, or, as an administrator, anybody's, and the browser sessions made from it.

    Raises Problem(not-found).
    """
    token = session.get(Token, token_id)
    if token is None or not (principal.role is Role.ADMIN or token.user_id == principal.user_id):
        raise Problem("not-found", "You have no such token.")
    session.delete(token)
    session.flush()


def revoke_others(session: Session, kept: Token) -> None:
    """End all tokens of a user but this one, and the browser sessions made from them."""
    others = (Token.user_id == kept.user_id, Token.id != kept.id)
    session.execute(delete(Token).where(*others).execution_options(synchronize_session="fetch"))


def identify(session: Session, *, authorization: str | None, cookie: str | None, local: bool) -> Principal | None:
    """Who makes a request: by its token, else by its cookie, else local mode's user, else None.

    Raises Problem(not-signed-in) for an Authorization header that is not a known bearer token, in every mode.
    """
    if authorization is not None:
        scheme, _, secret = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise _unknown_token()
        return principal_of_token(session, secret.strip())
    signed_in = principal_of_cookie(session, cookie) if cookie else None
    return signed_in or (local_principal(session) if local else None)


def principal_of_token(session: Session, secret: str) -> Principal:
    """Who a bearer token belongs to. Raises Problem(not-signed-in), for an empty one whatever is stored."""
    query = select(Token).where(Token.sha256 == sha256(secret)).options(joinedload(Token.user))
    token = session.scalars(query).one_or_none() if secret else None
    if token is None:
        raise _unknown_token()
    return _principal(token.user, Via.TOKEN)


def principal_of_cookie(session: Session, cookie: str) -> Principal | None:
    """Who a browser's session cookie belongs to. None: unknown or expired."""
    query = select(BrowserSession).where(BrowserSession.sha256 == sha256(cookie), BrowserSession.expires_at > utc_now())
    found = session.scalars(query.options(joinedload(BrowserSession.token).joinedload(Token.user))).one_or_none()
    return _principal(found.token.user, Via.SESSION) if found else None


def local_principal(session: Session) -> Principal:
    """Local mode's user, who may do everything. ``ensure_local_user`` has made the row."""
    return _principal(session.scalars(select(User).where(User.name == LOCAL_USER)).one(), Via.LOCAL)


def sign_in(session: Session, secret: str, *, days: int) -> str:
    """Turn a token into a browser session and return the cookie's value. Raises Problem(not-signed-in)."""
    principal_of_token(session, secret)
    token_id = session.scalars(select(Token.id).where(Token.sha256 == sha256(secret))).one()
    session.execute(delete(BrowserSession).where(BrowserSession.expires_at <= utc_now()))
    cookie = secrets.token_urlsafe(32)
    session.add(BrowserSession(sha256=sha256(cookie), token_id=token_id, expires_at=utc_now() + timedelta(days=days)))
    session.flush()
    return cookie


def sign_out(session: Session, cookie: str) -> None:
    """End a browser session; an unknown one is no error."""
    session.execute(delete(BrowserSession).where(BrowserSession.sha256 == sha256(cookie)))


def ensure_local_user(session: Session) -> None:
    """Local mode's user exists."""
    _ensure_user(session, LOCAL_USER)


def ensure_admin_token(session: Session, secret: str) -> None:
    """The administrator exists, and the operator's token (and no earlier one of theirs) is the administrator's.

    Raises TokenTaken.
    """
    admin = _ensure_user(session, ADMIN_USER)
    operators = select(Token).where(Token.user_id == admin.id, Token.name == _ADMIN_TOKEN_NAME)
    known = False
    for token in session.scalars(operators):
        if token.sha256 == sha256(secret):
            known = True
        else:
            session.delete(token)
    if not known:
        _require_unknown(session, secret)
        session.add(Token(user_id=admin.id, name=_ADMIN_TOKEN_NAME, sha256=sha256(secret)))
    session.flush()


def _require_unknown(session: Session, secret: str) -> None:
    query = select(User.name, Token.name).join(Token, Token.user_id == User.id).where(Token.sha256 == sha256(secret))
    taken = session.execute(query).one_or_none()
    if taken is not None:
        user, name = taken
        raise TokenTaken(f"it is the token {name!r} of the user {user!r}; choose another one, or end that one")


def _ensure_user(session: Session, name: str) -> User:
    """The user, locked: another process may be at the same."""
    locked = select(User).where(User.name == name).with_for_update(key_share=True)
    user = session.scalars(locked).one_or_none()
    if user is not None:
        return user
    try:
        with session.begin_nested():
            user = User(name=name, role=Role.ADMIN.value)
            session.add(user)
    except IntegrityError:
        return session.scalars(locked).one()
    return user


def _unknown_token() -> Problem:
    return Problem("not-signed-in", "This token is not known (any more).", headers={"WWW-Authenticate": "Bearer"})


def _principal(user: User, via: Via) -> Principal:
    return Principal(user_id=user.id, name=user.name, role=Role(user.role), via=via)
