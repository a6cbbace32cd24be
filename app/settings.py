"""What an operator can set: environment variables with the prefix ``WARPGRADE_``, units in the names."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote, urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from app.secret_files import SecretFiles, UnreadableSecret
from graders.limits import Limits

_PLACEHOLDERS = {"", "admin", "change-me", "changeme", "default", "password", "postgres", "secret", "warpgrade"}
_DATABASES = {"postgresql", "postgresql+psycopg", "sqlite"}
_TOKEN_CHARACTERS = 24
_TOKEN_DISTINCT = 8

_Words = Annotated[tuple[str, ...], NoDecode]
"""A list as operators write one: words between commas."""


class Misconfigured(Exception):
    """What is set cannot be used; the message has a line for each reason."""


class Settings(BaseSettings):
    """Frozen settings, read once by the process that makes them and handed on from there.

    A secret is in its variable, or in the file that the variable with ``_FILE`` at its end names.

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
    database_password: SecretStr | None = Field(None, description="The password of database_url, if not in it.")
    broker_url: str | None = Field(None, description="Redis URL; a server of our own when absent.")
    broker_password: SecretStr | None = Field(None, description="The password of broker_url, if not in it.")
    admin_token: SecretStr | None = Field(None, description="An administrator's API token from the first start.")
    hosts: _Words = Field((), description="Host names that server mode answers to; any when absent.")
    trusted_proxies: _Words = Field(
        ("127.0.0.1", "::1"), description="Addresses or networks whose X-Forwarded-For and -Proto are believed."
    )
    lane: Literal["auto", "gpu", "interpreter"] = Field("auto", description="What a worker judges with.")
    sandbox: Literal["auto", "A", "B", "off"] = Field(
        "auto", description="The weakest tier a worker may start with; 'off' is for development and marks reports."
    )

    submissions_per_hour: int = Field(60, ge=1, description="For the role student.")
    streams: int = Field(20, ge=1, description="Open at a time, for each of the role student and each web process.")
    session_days: int = Field(30, ge=1, description="How long a browser stays signed in.")
    lease_s: float = Field(30, gt=0, description="A grading whose worker is silent this long is given to another.")
    heartbeat_s: float = Field(5, gt=0, description="How often workers say that they live.")
    sweep_s: float = Field(5, gt=0, description="How often lost messages and expired leases are looked for.")
    resend_s: float = Field(60, gt=0, description="A message unanswered this long may be lost.")
    stop_s: float = Field(60, ge=0, description="How long a worker told to stop goes on with its grading.")
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

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, SecretFiles(settings_cls)

    @field_validator("data")
    @classmethod
    def _absolute(cls, data: Path) -> Path:
        return data.expanduser().absolute()

    @field_validator("hosts", "trusted_proxies", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in proxies:
            ipaddress.ip_network(proxy)
        return proxies

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
        for name, secret in self._secrets().items():
            if is_guessable(secret):
                raise ValueError(
                    f"{name} is a placeholder or too short: server mode needs {_TOKEN_CHARACTERS} "
                    "random characters (openssl rand -hex 24)"
                )
        for name, url in (("WARPGRADE_DATABASE_URL", self.database_url), ("WARPGRADE_BROKER_URL", self.broker_url)):
            if url and (urlsplit(url).password or "x").lower() in _PLACEHOLDERS:
                raise ValueError(f"{name} carries a placeholder password: server mode needs a real one")
        return self

    @property
    def database(self) -> str:
        """The SQLAlchemy URL in use, with its password."""
        return _with_password(self.database_url, self.database_password) or f"sqlite:///{self.data / 'warpgrade.db'}"

    @property
    def broker(self) -> str | None:
        """The URL of the operator's Redis server, with its password. None: a server of our own."""
        return _with_password(self.broker_url, self.broker_password)

    @property
    def worker_gone_s(self) -> float:
        """A worker silent this long counts as gone: three heartbeats, so that one late beat changes nothing."""
        return 3 * self.heartbeat_s

    @property
    def worker_sign(self) -> Path:
        """The file whose age tells when a worker with this data directory last said that it takes work."""
        return self.data / "worker.alive"

    def environment(self) -> dict[str, str]:
        """These settings as a child process reads them. The administrator's token stays here."""
        secret = set(self._secrets())
        values = self.model_dump(mode="json", exclude={"limits"}, exclude_none=True)
        values |= {f"limits_{name}": value for name, value in self.limits.model_dump().items()}
        named = {f"WARPGRADE_{name.upper()}": _as_text(value) for name, value in values.items()}
        return {name: value for name, value in named.items() if name not in secret} | self._passwords()

    def _secrets(self) -> dict[str, str]:
        token = {"WARPGRADE_ADMIN_TOKEN": self.admin_token.get_secret_value()} if self.admin_token is not None else {}
        return token | self._passwords()

    def _passwords(self) -> dict[str, str]:
        passwords = {
            "WARPGRADE_DATABASE_PASSWORD": self.database_password,
            "WARPGRADE_BROKER_PASSWORD": self.broker_password,
        }
        return {name: secret.get_secret_value() for name, secret in passwords.items() if secret is not None}


def read_settings() -> Settings:
    """The settings of this process's environment. Raises Misconfigured."""
    try:
        return Settings()
    except ValidationError as error:
        raise Misconfigured(sentences(error)) from error
    except UnreadableSecret as error:
        raise Misconfigured(str(error)) from error


def sentences(error: ValidationError) -> str:
    """What is wrong with values that somebody gave, a line each."""
    return "\n".join(_sentence(item["loc"], item["msg"]) for item in error.errors())


def _sentence(location: tuple[int | str, ...], message: str) -> str:
    text = message.removeprefix("Value error, ")
    return f"{'_'.join(str(part) for part in location)}: {text}" if location else text


def _as_text(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def _with_password(url: str | None, password: SecretStr | None) -> str | None:
    """A URL with the password put in. One that carries a password already keeps it."""
    if url is None or password is None:
        return url
    parts = urlsplit(url)
    if parts.password is not None:
        return url
    user, _, place = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user}:{quote(password.get_secret_value(), safe='')}@{place}").geturl()


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
