"""The whole service, with its real broker, worker, judge and sandbox: whatever is killed, every submission ends
with the right verdict, exactly once."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.processes import SELDOM_S, is_alive, wait_until
from tests.serving import Served

pytestmark = pytest.mark.slow

TOKEN = "an-administrators-token-0123456789"
CORPUS = Path(__file__).parents[2] / "graders/t2_softmax/submissions"
RIGHT = (CORPUS / "accepted/one_row_per_program.py").read_text()
SLOW = f"{RIGHT}\nimport time\nquick = softmax\n\ndef softmax(x, out):\n    time.sleep(0.2)\n    quick(x, out)\n"
WRONG = (CORPUS / "wrong_answer/no_max.py").read_text()
QUICK = {
    "WARPGRADE_ADMIN_TOKEN": TOKEN,
    "WARPGRADE_LEASE_S": "3",
    "WARPGRADE_HEARTBEAT_S": "0.5",
    "WARPGRADE_SWEEP_S": "0.5",
    "WARPGRADE_RESEND_S": "3",
}


class Client:
    """A client program with an administrator's token."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20)

    def close(self) -> None:
        self._http.close()

    def submit(self, source: str) -> str:
        answer = self._http.post("/api/v1/submissions", json={"drill": "t2_softmax", "source": source})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def ask(self, submission: str) -> httpx.Response:
        return self._http.get(f"/api/v1/submissions/{submission}")

    def look(self, submission: str) -> dict[str, Any]:
        answer = self.ask(submission)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def wait(self, submission: str, state: str = "done", timeout_s: float = 90) -> dict[str, Any]:
        often = {"every_s": SELDOM_S} if state == "done" else {}  # other states pass
        wait_until(lambda: self.look(submission)["state"] == state, f"{submission} is {state}", timeout_s, **often)
        return self.look(submission)

    def wait_for_worker(self) -> None:
        wait_until(lambda: bool(self._http.get("/health").json()["workers"]), "a worker is there", 60, SELDOM_S)

    def events(self, submission: str) -> list[tuple[str, dict[str, Any]]]:
        """All events of a finished submission."""
        with self._http.stream("GET", f"/api/v1/submissions/{submission}/events") as stream:
            blocks = "".join(stream.iter_text()).split("\n\n")
        fields = [dict(line.split(": ", 1) for line in block.splitlines() if ": " in line) for block in blocks]
        return [(field["event"], json.loads(field["data"])) for field in fields if "data" in field]


@contextmanager
def running(data: Path) -> Iterator[Served]:
    service = Served(data, **QUICK)
    yield service
    service.process.kill()
    service.process.wait()


@contextmanager
def client_of(served: Served) -> Iterator[Client]:
    client = Client(served.url)
    client.wait_for_worker()
    yield client
    client.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The one that survives, test after test, whatever of it is killed."""
    with running(tmp_path_factory.mktemp("served") / "data") as service:
        yield service


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    with client_of(served) as client:
        yield client


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Served]:
    """One that a test may end."""
    with running(tmp_path / "data") as service:
        yield service


@pytest.fixture
def its_client(mortal: Served) -> Iterator[Client]:
    with client_of(mortal) as client:
        yield client


def assert_ended_once(client: Client, right: str, wrong: str) -> None:
    assert client.wait(right)["verdict"] == "accepted"
    report = client.wait(wrong)
    assert report["verdict"] == "wrong_answer"
    assert {case["ordinal"] for case in report["cases"]} == set(range(1, report["expected_cases"] + 1))
    for submission in (right, wrong):
        assert Counter(kind for kind, _ in client.events(submission))["done"] == 1


def test_two_submissions_at_once(client: Client) -> None:
    assert_ended_once(client, client.submit(RIGHT), client.submit(WRONG))


def test_a_worker_that_is_killed_while_grading(served: Served, client: Client) -> None:
    right, wrong = client.submit(RIGHT), client.submit(WRONG)
    client.wait(right, "testing")
    os.kill(served.child("worker.main"), signal.SIGKILL)
    assert_ended_once(client, right, wrong)
    assert "restarted" in [kind for kind, _ in client.events(right)]


def test_a_judge_that_is_killed_while_grading(served: Served, client: Client) -> None:
    right, wrong = client.submit(RIGHT), client.submit(WRONG)
    client.wait(right, "testing")
    os.kill(served.child("worker.judge"), signal.SIGKILL)
    assert_ended_once(client, right, wrong)


def test_a_broker_that_is_killed_while_grading(served: Served, client: Client) -> None:
    right, wrong = client.submit(RIGHT), client.submit(WRONG)
    client.wait(right, "testing")
    broker = served.child("unixsocket")
    os.kill(broker, signal.SIGKILL)
    assert_ended_once(client, right, wrong)
    assert_ended_once(client, client.submit(RIGHT), client.submit(WRONG))


def test_a_service_that_is_killed_and_started_again(mortal: Served, its_client: Client, tmp_path: Path) -> None:
    right, wrong = its_client.submit(RIGHT), its_client.submit(WRONG)
    its_client.wait(right, "testing")
    children = [mortal.child(word) for word in ("worker.main", "unixsocket", "worker.judge")]
    mortal.process.kill()
    mortal.process.wait()
    wait_until(lambda: not any(map(is_alive, children)), "no orphan is left")
    again = Served(tmp_path / "data", **QUICK)
    second = Client(again.url)
    try:
        assert_ended_once(second, right, wrong)
    finally:
        second.close()
        again.process.kill()
        again.process.wait()


def test_a_service_that_is_told_to_stop_hands_its_grading_on(
    mortal: Served, its_client: Client, tmp_path: Path
) -> None:
    slow = its_client.submit(SLOW)
    its_client.wait(slow, "testing")
    mortal.process.terminate()
    assert mortal.process.wait(60) == 0
    assert "killing it" not in mortal.output
    again = Served(tmp_path / "data", **QUICK)
    second = Client(again.url)
    try:
        assert second.wait(slow, timeout_s=180)["verdict"] == "accepted"
        assert [data for kind, data in second.events(slow) if kind == "restarted"] == [{"attempt": 2}]
    finally:
        second.close()
        again.process.kill()
        again.process.wait()


def test_cancelling_while_it_runs(client: Client) -> None:
    endless = client.submit("def softmax(x, out):\n    while True:\n        pass\n")
    right = client.submit(RIGHT)
    wait_until(lambda: client.look(endless)["state"] != "queued", "it runs", 30)
    assert client._http.post(f"/api/v1/submissions/{endless}/cancel").status_code in (200, 202, 204)
    assert client.wait(endless, "cancelled")["verdict"] is None
    assert client.wait(right)["verdict"] == "accepted"
