"""Who makes a request."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.errors import Problem


class Role(StrEnum):
    STUDENT = "student"
    INSTRUCTOR = "instructor"
    ADMIN = "admin"


class Via(StrEnum):
    """What a principal was recognised by."""

    TOKEN = "token"  # noqa: S105 - a kind, not a secret
    SESSION = "session"
    LOCAL = "local"


@dataclass(frozen=True)
class Principal:
    """A user as one request sees them."""

    user_id: str
    name: str
    role: Role
    via: Via

    @property
    def staff(self) -> bool:
        """Whether they see everything: instructors and administrators."""
        return self.role is not Role.STUDENT

    def require(self, role: Role) -> None:
        """Raises Problem(forbidden) unless they have the role or a higher one."""
        ranks = list(Role)
        if ranks.index(self.role) < ranks.index(role):
            raise Problem("forbidden", f"This needs the role {role}; {self.name} is {self.role}.")
