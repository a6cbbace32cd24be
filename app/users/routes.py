"""Accounts, tokens, and who one is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, status

from app.access import service as access
from app.access.principals import Role
from app.api.dependencies import AppResources, Caller, CallerFirst, Reading
from app.api.openapi import BODIES, CHANGES, problems
from app.store.models import Token
from app.users.schemas import Me, NewToken, NewUser, TokenList, TokenOrder, TokenOut, UserNamed, UserOrder
from app.users.service import account_of, create_user

router = APIRouter(tags=["accounts"], route_class=CallerFirst)


@router.get("/me")
def who_am_i(caller: Caller) -> Me:
    """Who makes this request."""
    return Me(id=caller.user_id, name=caller.name, role=caller.role, via=caller.via)


@router.post("/users", status_code=status.HTTP_201_CREATED, responses=problems(*BODIES, "forbidden", "name-taken"))
def add_user(order: UserOrder, caller: Caller, resources: AppResources) -> NewUser:
    """Make an account (administrators). The answer holds its first token, which is shown only here."""
    caller.require(Role.ADMIN)
    with resources.store.transaction() as session:
        user, token, secret = create_user(session, order.name, order.role)
    return NewUser(
        id=user.id, name=user.name, role=Role(user.role), created_at=user.created_at, token=_shown(token, secret)
    )


@router.get("/tokens", responses=problems("forbidden", "not-found", "invalid-request"))
def list_tokens(
    caller: Caller,
    session: Reading,
    user: Annotated[UserNamed | None, Query(description="Whose, by name or id (administrators).")] = None,
) -> TokenList:
    """One's own tokens, or as an administrator another user's, without their text."""
    tokens = access.tokens_of(session, account_of(session, caller, user))
    return TokenList(items=[TokenOut.model_validate(token) for token in tokens])


@router.post("/tokens", status_code=status.HTTP_201_CREATED, responses=problems(*BODIES, "forbidden", "not-found"))
def add_token(order: TokenOrder, caller: Caller, resources: AppResources) -> NewToken:
    """Make a token for oneself, or as an administrator for another user. Its text is shown only here."""
    with resources.store.transaction() as session:
        return _shown(*access.issue_token(session, account_of(session, caller, order.user), order.name))


@router.delete("/tokens/{token_id}", status_code=status.HTTP_204_NO_CONTENT, responses=problems(*CHANGES, "not-found"))
def delete_token(token_id: str, caller: Caller, resources: AppResources) -> None:
    """End one of one's own tokens, or as an administrator anybody's, and the browser sessions made from it."""
    with resources.store.transaction() as session:
        access.revoke_token(session, caller, token_id)


def _shown(token: Token, secret: str) -> NewToken:
    return NewToken(id=token.id, name=token.name, created_at=token.created_at, token=secret)
