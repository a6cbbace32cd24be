"""An instructor's drill through the whole service: uploaded, validated by the real judge, published, solved."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.drills import REFERENCE, SLUG, small_drill
from tests.processes import SELDOM_S, wait_until
from tests.service.test_survival import QUICK, TOKEN
from tests.serving import Served
from tests.uploads import form

pytestmark = pytest.mark.slow

VERSION = f"/api/v1/drills/{SLUG}/versions/1"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    service = Served(tmp_path / "data", **QUICK)
    yield service
    service.process.kill()
    service.process.wait()


@pytest.fixture
def http(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20) as client:
        wait_until(lambda: bool(client.get("/health").json()["workers"]), "a worker is there", 60, SELDOM_S)
        yield client


def read(http: httpx.Client, path: str) -> dict[str, Any]:
    answer = http.get(path)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def submit(http: httpx.Client, drill: str, source: str) -> str:
    answer = http.post("/api/v1/submissions", json={"drill": drill, "source": source})
    return str(answer.json()["links"]["self"])


def test_a_drill_is_validated_though_its_worker_is_killed_and_students_solve_it(
    served: Served, http: httpx.Client
) -> None:
    package = small_drill("accepted/in_steps", "wrong_answer/signed_sum", basic=("positive", "random"))
    answer = http.post("/api/v1/drills", files=form(package.to_zip()))
    assert answer.status_code == 202, answer.text
    wait_until(lambda: read(http, VERSION)["validation"]["state"] == "running", "its validation runs", 60)
    os.kill(served.child("worker.main"), signal.SIGKILL)
    wait_until(lambda: read(http, VERSION)["validation"]["attempt"] == 2, "another attempt begins", 60)

    source = package.files[REFERENCE].decode()
    meanwhile = http.post("/api/v1/submissions", json={"drill": "t2_softmax", "source": "x = 1"}).json()["links"][
        "self"
    ]
    wait_until(lambda: read(http, meanwhile)["state"] == "done", "a student is graded meanwhile", 120, SELDOM_S)
    wait_until(lambda: read(http, VERSION)["state"] != "validating", "the validation ends", 200, SELDOM_S)
    found = read(http, VERSION)
    assert found["state"] == "valid", found["validation"]["findings"]
    assert len(found["validation"]["submissions"]) == 3
    assert http.post(f"{VERSION}/publish").status_code == 200
    solved = submit(http, SLUG, source)
    wait_until(lambda: read(http, solved)["state"] == "done", "a student's solution is graded", 120, SELDOM_S)
    assert read(http, solved)["verdict"] == "accepted"
