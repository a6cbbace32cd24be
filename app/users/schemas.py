"""Accounts and tokens as REST shows them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from app.access.principals import Role, Via
from app.api.schemas import Answer, Order, Time

Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64, pattern=r"^[^\x00-\x1f\x7f]+$")
]


UserNamed = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[^\x00]+$")]


class UserOrder(Order):
    name: Name
    role: Role


class TokenOrder(Order):
    name: Name = Field(description="What the token is for, so that it can be told from others.")
    user: UserNamed | None = Field(
        None, description="Whose it is to be, by name or id (administrators): for who has lost theirs. Else one's own."
    )


class TokenOut(Answer):
    id: str
    name: str
    created_at: Time


class NewToken(TokenOut):
    token: str = Field(description="The token itself. It is shown here and never again.")


class TokenList(Answer):
    items: list[TokenOut]


class UserOut(Answer):
    id: str
    name: str
    role: Role
    created_at: Time


class NewUser(UserOut):
    token: NewToken


class Me(Answer):
    id: str
    name: str
    role: Role
    via: Via = Field(description="What this request was recognised by.")
