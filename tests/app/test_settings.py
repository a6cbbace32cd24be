"""What the environment says, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from app.settings import Settings, is_loopback


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
    settings = Settings(data=tmp_path, port=1234, lease_s=7, admin_token="x" * 3, sandbox="off")
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


@pytest.mark.parametrize("token", ["", "changeme", "short", "a" * 40, "changeme-changeme-changeme-123"])
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
