"""What all answers share. Fields have no defaults: what is documented is there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainSerializer


def rfc3339(moment: datetime) -> str:
    """A time as every answer writes it: UTC, milliseconds, Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Time = Annotated[datetime, PlainSerializer(rfc3339, return_type=str, when_used="json")]


class Answer(BaseModel):
    """Base of the answers."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


class Order(BaseModel):
    """Base of what clients send: unknown fields are refused, so that a typing error is not ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)
