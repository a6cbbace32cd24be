"""Every command of the guide for instructors is run as it stands, against a whole service; its code is the drill's."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from graders.package import Package
from tests.docs.guide import code, commands, script, sections
from tests.processes import wait_until
from tests.serving import CLI, ROOT, Served

WALK = "From `drill new` to published"
ADMIN = "an-administrators-token-0123456789"
RUNS_S = 900
"""For a dozen and more gradings on a busy machine; alone they take a minute or two."""


def test_what_is_not_run_has_no_commands() -> None:
    assert {title for title in sections() if commands(title)} == {"Writing a drill", WALK}


def test_the_code_is_the_drills_own() -> None:
    texts = [data.decode() for data in Package.from_tree("t3_rmsnorm").files.values()]
    shown = code(WALK)
    assert len(shown) >= 10
    assert [block for block in shown if not any(block in text for text in texts)] == []


def test_the_buttons_have_their_names() -> None:
    texts = tomllib.loads((ROOT / "app/pages/texts.en.toml").read_text("utf-8"))
    known = {text for table in ("inst", "act") for text in texts[table].values() if isinstance(text, str)}
    prose = re.sub(r"```.*?```", "", sections()[WALK], flags=re.DOTALL)
    named = re.findall(r"\*\*(.+?)\*\*", prose)
    assert len(named) >= 4
    assert set(named) <= known


def run(lines: str, folder: Path) -> str:
    """What bash prints; ``warpgrade`` is the one that is tested. Fails the test when a command does."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "warpgrade").write_text(f'#!/bin/sh\nexec {shlex.join(CLI)} "$@"\n')
    (programs / "warpgrade").chmod(0o755)
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-c", lines],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUNS_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(RUNS_S)
def test_a_new_drill_is_written_validated_and_zipped(tmp_path: Path) -> None:
    printed = run(script("Writing a drill"), tmp_path)
    assert "Valid: 14 submissions were run as expected" in printed
    assert (tmp_path / "row_shares.zip").is_file()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    service = Served(tmp_path / "data", WARPGRADE_ADMIN_TOKEN=ADMIN)
    yield service
    service.process.terminate()
    service.process.wait()


@pytest.fixture
def http(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, headers={"Authorization": f"Bearer {ADMIN}"}, timeout=20) as client:
        wait_until(lambda: bool(client.get("/health").json()["workers"]), "a worker is there", 60)
        yield client


def read(http: httpx.Client, path: str) -> dict[str, Any]:
    answer = http.get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.slow
@pytest.mark.timeout(RUNS_S)
def test_a_drill_is_built_uploaded_published_solved_and_retired(
    served: Served, http: httpx.Client, tmp_path: Path
) -> None:
    printed = run(script(WALK, WARPGRADE=str(ROOT), URL=served.url, ADMIN=ADMIN), tmp_path)
    assert printed.count("event: done") == 3, "of two validations and a grading"
    versions = read(http, "drills/row_rmsnorm/versions")["items"]
    assert [(item["version"], item["state"], item["owner"]) for item in versions] == [
        (2, "retired", "ines"),
        (1, "retired", "ines"),
    ]
    (submission,) = read(http, "submissions?drill=row_rmsnorm")["items"]
    report = read(http, f"submissions/{submission['id']}")
    assert (report["verdict"], report["drill_version"]) == ("wrong_answer", 1)
    assert [item["misconception"] for item in report["diagnoses"]] == ["no_eps"]
    assert {case["category"] for case in report["cases"] if case["status"] == "failed"} == {"small"}
    found = read(http, "drills/row_rmsnorm/versions/2")["validation"]
    assert [item["name"] for item in found["submissions"]] == [
        "reference/row_rmsnorm",
        "accepted/in_steps",
        "wrong_answer/eps_forgotten",
        "wrong_answer/eps_outside_the_root",
        "wrong_answer/stride_is_n",
        "wrong_answer/weight_forgotten",
    ]
    assert http.get("/api/v1/drills/row_rmsnorm").status_code == 404, "none of its versions is offered any longer"
