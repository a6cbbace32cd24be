"""The health checks of the containers, as the engine runs them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.settings import Settings
from tests.serving import ROOT, environment_of


def probe(what: str, data: Path, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "app.probe", what],
        cwd=ROOT,
        env=environment_of(data, **environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_worker_is_well_while_its_sign_is_fresh(settings: Settings) -> None:
    assert probe("worker", settings.data) == (1, "this worker has not begun\n")
    settings.data.mkdir()
    settings.worker_sign.touch()
    assert probe("worker", settings.data) == (0, "well\n")
    past = time.time() - settings.worker_gone_s - 100
    os.utime(settings.worker_sign, (past, past))
    code, said = probe("worker", settings.data)
    assert code == 1
    assert said.startswith("this worker has taken no work for 1")


def test_a_web_service_that_is_not_there_is_not_well(tmp_path: Path, unused_port: int) -> None:
    code, said = probe("web", tmp_path, PORT=str(unused_port))
    assert code == 1
    assert said == f"http://127.0.0.1:{unused_port}/ready: <urlopen error [Errno 111] Connection refused>\n"


def test_settings_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    code, said = probe("web", tmp_path, WARPGRADE_HOST="0.0.0.0")  # noqa: S104
    assert code == 1
    assert said.startswith("local mode")


@pytest.fixture
def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
