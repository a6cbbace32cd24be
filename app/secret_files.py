"""Secrets from files: ``WARPGRADE_<NAME>_FILE`` names the file that holds the secret setting ``<NAME>``.

A variable is seen by whoever may list processes or inspect a container; a file is seen by whom its mode admits.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

_SUFFIX = "_FILE"


class UnreadableSecret(ValueError):
    """A secret's file cannot be used; the message says which and why."""


class SecretFiles(PydanticBaseSettingsSource):
    """The settings source behind the ``_FILE`` variables. Raises UnreadableSecret."""

    def __call__(self) -> dict[str, Any]:
        fields = (
            (name, self.get_field_value(field, name)[0]) for name, field in self.settings_cls.model_fields.items()
        )
        return {name: value for name, value in fields if value is not None}

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        variable = secret_variable(self.settings_cls, field_name)
        path = os.environ.get(variable + _SUFFIX)
        value = _read(variable, Path(path)) if is_secret(field) and path else None
        return value, field_name, False


def is_secret(field: FieldInfo) -> bool:
    """Whether a setting holds a secret."""
    return field.annotation == SecretStr | None


def secret_variable(settings: type[BaseSettings], name: str) -> str:
    """The environment variable of a setting."""
    return f"{settings.model_config['env_prefix']}{name}".upper()


def _read(variable: str, path: Path) -> str:
    if variable in os.environ:
        raise UnreadableSecret(f"{variable} and {variable}{_SUFFIX} are both set: one of them has to go")
    try:
        secret = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UnreadableSecret(f"{variable}{_SUFFIX} names {path}, which cannot be read: {reason}") from error
    if not secret:
        raise UnreadableSecret(f"{variable}{_SUFFIX} names {path}, which is empty")
    return secret
