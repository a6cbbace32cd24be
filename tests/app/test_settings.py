"""What the environment says, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pydantic import ValidationError

from app.settings import Misconfigured, Settings, is_loopback, read_settings


def test_defaults_are_local(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings()
    assert (settings.mode, settings.host, settings.port) == ("local", "127.0.0.1", 8000)
    assert settings.data == tmp_path / "var"
    assert settings.database == f"sqlite:///{tmp_path}/var/warpgrade.db"


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "9001")
    monkeypatch.setenv("WARPGRADE_DATA", "/srv/warpgrade")
    monkeypatch.setenv("WARPGRADE_LIMITS_CASE_S", "33")
    settings = Settings()
    assert (settings.port, settings.data) == (9001, Path("/srv/warpgrade"))
    assert settings.limits.case_s == 33
    assert settings.limits.compile_s == Settings.model_fields["limits"].default.compile_s


def test_a_child_reads_the_same_settings_but_not_the_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = Settings(
        data=tmp_path,
        port=1234,
        lease_s=7,
        admin_token="x" * 3,
        broker_password="p@ss",
        hosts="a.example,b.example",
        sandbox="off",
    )
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    child = Settings()
    assert child.admin_token is None
    assert child.model_dump(exclude={"admin_token"}) == settings.model_dump(exclude={"admin_token"})


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "example.org", "::"])  # noqa: S104
def test_local_mode_binds_loopback_only(host: str) -> None:
    with pytest.raises(ValidationError, match="loopback"):
        Settings(host=host)
    assert Settings(mode="server", host=host).host == host


@pytest.mark.parametrize("mode", ["local", "server"])
@pytest.mark.parametrize("token", ["", "  "])
def test_an_empty_token_is_none(mode: Literal["local", "server"], token: str) -> None:
    assert Settings(mode=mode, admin_token=token).admin_token is None


@pytest.mark.parametrize("token", ["changeme", "short", "a" * 40, "changeme-changeme-changeme-123"])
def test_server_mode_refuses_a_guessable_token(token: str) -> None:
    with pytest.raises(ValidationError, match="WARPGRADE_ADMIN_TOKEN"):
        Settings(mode="server", admin_token=token)


def test_server_mode_refuses_placeholder_passwords() -> None:
    for name, scheme in (("database_url", "postgresql"), ("broker_url", "redis")):
        with pytest.raises(ValidationError, match=f"{name.upper()} carries a placeholder password"):
            Settings(mode="server", **{name: f"{scheme}://user:changeme@host/0"})


@pytest.mark.parametrize(
    "url", ["postgresql://ada@db/warpgrade", "postgresql:///w?host=/run/db", "sqlite:////srv/w.db"]
)
def test_the_database_is_postgresql_or_sqlite(url: str) -> None:
    assert Settings(database_url=url).database == url
    for other in (
        "mysql://ada@db/warpgrade",
        "postgres://ada@db/warpgrade",
        "postgresql+asyncpg://db/w",
        "/srv/w.db",
        "",
    ):
        with pytest.raises(ValidationError, match="begins with postgresql:// or sqlite:///"):
            Settings(database_url=other)


def test_loopback_addresses() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "localhost.example.org", "10.0.0.1", ""))  # noqa: S104


SECRET = "9f86d081884c7d659a2feaa0c55ad015"


def test_secrets_are_read_from_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ADMIN_TOKEN", "DATABASE_PASSWORD", "BROKER_PASSWORD"):
        file = tmp_path / name
        file.write_text(f"{name}-{SECRET}\n")
        monkeypatch.setenv(f"WARPGRADE_{name}_FILE", str(file))
    monkeypatch.setenv("WARPGRADE_MODE", "server")
    monkeypatch.setenv("WARPGRADE_DATABASE_URL", "postgresql://warpgrade@db/warpgrade?connect_timeout=3")
    monkeypatch.setenv("WARPGRADE_BROKER_URL", "redis://redis:6379/0")
    settings = read_settings()
    assert settings.admin_token is not None
    assert settings.admin_token.get_secret_value() == f"ADMIN_TOKEN-{SECRET}"
    assert settings.database == f"postgresql://warpgrade:DATABASE_PASSWORD-{SECRET}@db/warpgrade?connect_timeout=3"
    assert settings.broker == f"redis://:BROKER_PASSWORD-{SECRET}@redis:6379/0"


def test_a_password_is_quoted_and_one_in_the_url_stays() -> None:
    settings = Settings(database_url="postgresql://u@h/d", database_password="a/b@c:d")
    assert settings.database == "postgresql://u:a%2Fb%40c%3Ad@h/d"
    assert Settings(broker_url="redis://:own@h/0", broker_password="other").broker == "redis://:own@h/0"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "which cannot be read: No such file or directory"),
        (b"\n", "which is empty"),
        (b"\xff\xfe", "which cannot be read: it is not text"),
    ],
)
def test_a_secret_that_is_missing_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None, reason: str
) -> None:
    file = tmp_path / "admin_token"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("WARPGRADE_ADMIN_TOKEN_FILE", str(file))
    with pytest.raises(Misconfigured, match="WARPGRADE_ADMIN_TOKEN_FILE names") as refused:
        read_settings()
    assert str(refused.value) == f"WARPGRADE_ADMIN_TOKEN_FILE names {file}, {reason}"


def test_a_secret_in_two_places_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "admin_token").write_text(SECRET)
    monkeypatch.setenv("WARPGRADE_ADMIN_TOKEN_FILE", str(tmp_path / "admin_token"))
    monkeypatch.setenv("WARPGRADE_ADMIN_TOKEN", SECRET)
    with pytest.raises(Misconfigured, match="both set"):
        read_settings()


@pytest.mark.parametrize("name", ["admin_token", "database_password", "broker_password"])
@pytest.mark.parametrize("secret", ["changeme", "postgres", "a" * 40])
def test_server_mode_refuses_every_guessable_secret(name: str, secret: str) -> None:
    with pytest.raises(ValidationError, match=f"WARPGRADE_{name.upper()}"):
        Settings(mode="server", **{name: secret})
    assert Settings(mode="server", **{name: SECRET}).mode == "server"


def test_lists_are_words_between_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPGRADE_HOSTS", "grade.school.example, grade")
    monkeypatch.setenv("WARPGRADE_TRUSTED_PROXIES", "")
    settings = Settings()
    assert (settings.hosts, settings.trusted_proxies) == (("grade.school.example", "grade"), ())
    assert Settings(trusted_proxies="10.1.0.0/16,::1").trusted_proxies == ("10.1.0.0/16", "::1")
    with pytest.raises(ValidationError, match="trusted_proxies"):
        Settings(trusted_proxies="*")
