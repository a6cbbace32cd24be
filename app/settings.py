"""What an operator can set: environment variables with the prefix ``WARPGRADE_``, units in the names."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from graders.limits import Limits

_PLACEHOLDERS = {"", "admin", "change-me", "changeme", "default", "password", "postgres", "secret", "warpgrade"}
_DATABASES = {"postgresql", "postgresql+psycopg", "sqlite"}
_TOKEN_CHARACTERS = 24
_TOKEN_DISTINCT = 8


class Settings(BaseSettings):
    """Frozen settings, read once by the process that makes them and handed on from there.

    Raises pydantic's ValidationError for what must not start: local mode on an address that others reach,
    server mode with a secret that anybody could guess.
    """

    model_config = SettingsConfigDict(
        env_prefix="WARPGRADE_",
        env_nested_delimiter="_",
        env_nested_max_split=1,
        nested_model_default_partial_update=True,
        populate_by_name=True,
        frozen=True,
    )

    mode: Literal["local", "server"] = Field("local", description="Local: one person, loopback only, no sign-in.")
    data: Path = Field(Path("var"), description="Where the database, the broker and the lock live.")
    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535, validation_alias=AliasChoices("WARPGRADE_PORT", "PORT"))
    database_url: str | None = Field(
        None, description="postgresql:// or sqlite:/// URL; SQLite in the data directory when absent."
    )
    broker_url: str | None = Field(None, description="Redis URL; a server of our own when absent.")
    admin_token: SecretStr | None = Field(None, description="An administrator's API token from the first start.")
    lane: Literal["auto", "gpu", "interpreter"] = Field("auto", description="What a worker judges with.")
    sandbox: Literal["auto", "A", "B", "off"] = Field(
        "auto", description="The weakest tier a worker may start with; 'off' is for development and marks reports."
    )

    submissions_per_hour: int = Field(60, ge=1, description="For the role student.")
    session_days: int = Field(30, ge=1, description="How long a browser stays signed in.")
    lease_s: float = Field(30, gt=0, description="A grading whose worker is silent this long is given to another.")
    heartbeat_s: float = Field(5, gt=0, description="How often workers say that they live.")
    sweep_s: float = Field(5, gt=0, description="How often lost messages and expired leases are looked for.")
    resend_s: float = Field(60, gt=0, description="A message unanswered this long may be lost.")
    max_attempts: int = Field(3, ge=1, description="Gradings that failed through our fault end after so many.")
    stream_s: float = Field(600, gt=0, description="The longest life of one event stream; clients resume.")
    limits: Limits = Field(
        Limits(
            case_s=120,
            compile_s=600,
            grading_s=1800,
            host_memory_mib=64 * 1024,
            device_memory_mib=128 * 1024,
            tasks=4096,
            open_files=8192,
            scratch_mib=8192,
            output_kept_kib=1024,
            output_kib=16 * 1024,
        ),
        description="The most that a drill may ask for.",
    )

    @field_validator("data")
    @classmethod
    def _absolute(cls, data: Path) -> Path:
        return data.expanduser().absolute()

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, url: str | None) -> str | None:
        if url is None or urlsplit(url).scheme in _DATABASES:
            return url
        raise ValueError("WARPGRADE_DATABASE_URL begins with postgresql:// or sqlite:///")

    @field_validator("admin_token")
    @classmethod
    def _empty_is_absent(cls, token: SecretStr | None) -> SecretStr | None:
        return token if token and token.get_secret_value().strip() else None

    @model_validator(mode="after")
    def _refuse_unsafe(self) -> Self:
        if self.mode == "local":
            if not is_loopback(self.host):
                raise ValueError(
                    f"local mode signs every visitor in, so it binds loopback only, not {self.host}; "
                    "set WARPGRADE_MODE=server to serve others"
                )
            return self
        if self.admin_token is not None and is_guessable(self.admin_token.get_secret_value()):
            raise ValueError(
                f"WARPGRADE_ADMIN_TOKEN is a placeholder or too short: server mode needs {_TOKEN_CHARACTERS} "
                "random characters (openssl rand -hex 24)"
            )
        for name, url in (("WARPGRADE_DATABASE_URL", self.database_url), ("WARPGRADE_BROKER_URL", self.broker_url)):
            if url and (urlsplit(url).password or "x").lower() in _PLACEHOLDERS:
                raise ValueError(f"{name} carries a placeholder password: server mode needs a real one")
        return self

    @property
    def database(self) -> str:
        """The SQLAlchemy URL in use."""
        return self.database_url or f"sqlite:///{self.data / 'warpgrade.db'}"

    @property
    def worker_gone_s(self) -> float:
        """A worker silent this long counts as gone: three heartbeats, so that one late beat changes nothing."""
        return 3 * self.heartbeat_s

    def environment(self) -> dict[str, str]:
        """These settings as a child process reads them. The administrator's token stays here."""
        values = self.model_dump(mode="json", exclude={"admin_token", "limits"}, exclude_none=True)
        limits = {f"limits_{name}": value for name, value in self.limits.model_dump().items()}
        return {f"WARPGRADE_{name.upper()}": str(value) for name, value in (values | limits).items()}


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_guessable(secret: str) -> bool:
    """Whether a secret is a well-known placeholder, too short, or hardly varies."""
    return (
        any(word and word in secret.lower() for word in ("changeme", "change-me"))
        or len(secret) < _TOKEN_CHARACTERS
        or len(set(secret)) < _TOKEN_DISTINCT
    )
