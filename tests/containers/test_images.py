"""What goes into the images, as far as it shows without an engine."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import ROOT

PINS = re.compile(r"^([a-z0-9_.-]+)==(\S+)", re.MULTILINE)


def blocks(lock: str) -> dict[str, set[str]]:
    """The hashes of each pin of a lock file."""
    parts = re.split(r"(?m)^(?=[a-z0-9])", lock)
    return {match[0]: set(re.findall(r"sha256:\w+", part)) for part in parts if (match := PINS.match(part))}


def test_the_images_packages_are_the_locked_ones_without_those_for_tests() -> None:
    every = blocks((ROOT / "requirements.lock").read_text())
    image = blocks((ROOT / "requirements.run.lock").read_text())
    assert image.items() <= every.items()
    names = {pin.partition("==")[0] for pin in image}
    assert {"fastapi", "celery", "triton", "psycopg-binary"} <= names
    assert not {"pytest", "mypy", "ruff", "playwright", "pyyaml"} & names


def test_only_what_is_named_reaches_the_builder() -> None:
    rules = (ROOT / ".dockerignore").read_text().splitlines()
    assert rules[1] == "*"
    copied = set(re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    sources = {source.partition("/")[0] for line in copied for source in line.split()}
    assert {rule[1:] for rule in rules if rule.startswith("!")} == sources


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "containers").iterdir()))
def test_a_script_of_the_images_is_a_program_in_plain_shell(script: str) -> None:
    path = ROOT / "containers" / script
    assert path.stat().st_mode & stat.S_IXOTH
    assert subprocess.run(["sh", "-n", str(path)], check=False).returncode == 0


@pytest.mark.parametrize(
    ("script", "variable"), [("redis.sh", "REDIS_PASSWORD_FILE"), ("postgres.sh", "POSTGRES_PASSWORD_FILE")]
)
@pytest.mark.parametrize(
    ("secret", "reason"),
    [
        (None, "cannot be read; 'make secrets' writes it"),
        ("changeme", "is too short: 24 random characters are the least ('make secrets')"),
        ("it's a secret; DROP TABLE users", "has characters other than letters, digits, _ and -"),
    ],
)
def test_a_bad_secret_is_one_clear_sentence(
    tmp_path: Path, script: str, variable: str, secret: str | None, reason: str
) -> None:
    file = tmp_path / "password"
    if secret is not None:
        file.write_text(secret)
    answer = subprocess.run(
        [ROOT / "containers" / script], env={variable: str(file)}, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 1
    assert answer.stderr == f"{script.removesuffix('.sh')}: not started: the secret {file} {reason}\n"


def test_secrets_are_made_once_and_differ(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"

    def make() -> dict[str, str]:
        subprocess.run(
            [ROOT / "scripts/secrets.sh"],
            env={"WARPGRADE_SECRETS": str(folder), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            check=True,
        )
        return {path.name: path.read_text() for path in folder.iterdir()}

    made = make()
    assert set(made) == {"database_password", "broker_password", "admin_token"}
    assert len(set(made.values())) == 3
    assert all(re.fullmatch("[0-9a-f]{48}", secret) for secret in made.values())
    assert folder.stat().st_mode & 0o777 == 0o700
    assert make() == made


def test_the_check_of_the_containers_is_skipped_in_one_line_without_an_engine(tmp_path: Path) -> None:
    nothing = ["/usr/bin/env", "-i", f"PATH={tmp_path}"]
    answer = subprocess.run(
        [*nothing, sys.executable, str(ROOT / "scripts/compose_check.py")], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (
        0,
        "compose-check: skipped: there is no docker here\n",
        "",
    )


def test_the_check_of_the_containers_names_the_compose_that_it_needs(tmp_path: Path) -> None:
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\n[ "$1" = info ] || echo v2.9.1\n')
    docker.chmod(0o755)
    answer = subprocess.run(
        [sys.executable, str(ROOT / "scripts/compose_check.py")],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "compose-check: skipped: Compose 2.24 or newer is needed, and Docker has v2.9.1\n"


def test_the_check_of_the_containers_is_its_own_whatever_env_says_of_ours(tmp_path: Path) -> None:
    """COMPOSE_PROFILES=gpu in .env would have it start the GPU worker, whose image it does not build. What is in the
    environment has precedence over .env, as long as it is there at all."""
    docker = tmp_path / "docker"
    docker.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        "info) ;;\n"
        '"compose version --short") echo 2.26.1 ;;\n'
        '"compose build "*) echo "asked with profiles=${COMPOSE_PROFILES-those of .env}" >&2; exit 1 ;;\n'
        "esac\n"
    )
    docker.chmod(0o755)
    answer = subprocess.run(
        [sys.executable, str(ROOT / "scripts/compose_check.py")],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 1
    assert "compose-check: failed in 'the images are built': " in answer.stdout
    assert "asked with profiles=\n" in answer.stdout
