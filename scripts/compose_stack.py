"""The services of docker-compose.yml under a name of their own, as scripts/compose_check.py drives them."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GRADED_S = 600
UP_S = 600
_ANSWER_S = 20


class Failed(Exception):
    """A step did not do what it should; the message says what was seen."""


def require(holds: bool, seen: object) -> None:
    if not holds:
        raise Failed(str(seen))


def run(*command: str, env: dict[str, str] | None = None, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, env=env, input=stdin, capture_output=True, text=True, check=False)


class Stack:
    """The services of docker-compose.yml under a name of their own."""

    def __init__(self, folder: Path) -> None:
        self.secrets = folder / "secrets"
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.name = f"warpgrade-check-{os.getpid()}"
        self.env = {
            **os.environ,
            "COMPOSE_PROJECT_NAME": self.name,
            "COMPOSE_PROFILES": "",  # .env may have gpu, whose image is not built here
            "WARPGRADE_TAG": self.name,
            "WARPGRADE_SECRETS": str(self.secrets),
            "WARPGRADE_PUBLISH": f"127.0.0.1:{port}",
            "WARPGRADE_STOP_S": "3",
        }
        made = run("scripts/secrets.sh", env=self.env)
        require(made.returncode == 0, made.stderr)
        self.admin = (self.secrets / "admin_token").read_text()
        self.student = self.first = ""  # a student's token, and the first submission

    def compose(self, *arguments: str, stdin: str | None = None, **env: str) -> str:
        """What a command of docker compose printed. Raises Failed."""
        done = self.try_compose(*arguments, stdin=stdin, **env)
        require(
            done.returncode == 0, f"docker compose {' '.join(arguments)}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
        return done.stdout

    def try_compose(self, *arguments: str, stdin: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        return run("docker", "compose", *arguments, env=self.env | env, stdin=stdin)

    def up(self, workers: int) -> None:
        self.compose("up", "--detach", "--no-build", "--scale", f"cpu-worker={workers}")
        wait(lambda: self.get("/ready")[0] == 200, "the service is ready", UP_S)
        wait(lambda: len(self.workers()) == workers, f"{workers} workers have registered", UP_S)

    def down(self, *arguments: str) -> None:
        self.compose("down", "--remove-orphans", "--timeout", "60", *arguments)

    def containers(self, service: str) -> list[str]:
        return self.compose("ps", "--quiet", service).split()

    def images(self) -> dict[str, int]:
        """The images of this run and their sizes in bytes."""
        names = [f"{name}:{self.name}" for name in ("warpgrade", "warpgrade-postgres", "warpgrade-redis")]
        return {name: int(inspected(name, "{{.Size}}")) for name in names}

    def query(self, statement: str) -> str:
        """What the database answers to SQL."""
        command = ("psql", "-U", "postgres", "-d", "warpgrade", "-Atc", statement)
        return self.compose("exec", "-T", "postgres", *command).strip()

    def grading(self) -> str:
        """The container of a worker that holds a grading, as the database knows it."""
        held = self.query("SELECT worker_id FROM gradings WHERE lease_until IS NOT NULL")
        return next(container for container in self.containers("cpu-worker") if container[:12] in held)

    def workers(self) -> list[dict[str, Any]]:
        status, health = self.get("/health")
        found: list[dict[str, Any]] = health["workers"] if status == 200 else []
        return [worker for worker in found if worker["healthy"]]

    def get(self, path: str, token: str | None = None) -> tuple[int, Any]:
        return self.ask(path, token)

    def ask(self, path: str, token: str | None = None, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Status and JSON of an answer; status 0 when there is none."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")
        except OSError:
            return 0, None

    def submit(self, source: str, token: str | None = None) -> str:
        status, answer = self.ask("/api/v1/submissions", token or self.admin, {"drill": "t2_softmax", "source": source})
        require(status == 202, (status, answer))
        return str(answer["id"])

    def look(self, submission: str) -> dict[str, Any]:
        status, report = self.get(f"/api/v1/submissions/{submission}", self.admin)
        return report if status == 200 else {"state": "unknown"}

    def wait_for(self, submission: str, *states: str) -> dict[str, Any]:
        wait(lambda: self.look(submission)["state"] in states, f"{submission} is {' or '.join(states)}", GRADED_S)
        return self.look(submission)

    def graded(self, submission: str, verdict: str) -> dict[str, Any]:
        report = self.wait_for(submission, "done", "cancelled")
        require(report["verdict"] == verdict, {key: report.get(key) for key in ("verdict", "cause", "environment")})
        return report

    def events(self, submission: str) -> list[str]:
        """The kinds of events of a finished submission."""
        headers = {"Authorization": f"Bearer {self.admin}"}
        request = urllib.request.Request(f"{self.url}/api/v1/submissions/{submission}/events", headers=headers)
        with urllib.request.urlopen(request, timeout=_ANSWER_S) as stream:
            return re.findall(r"^event: (\w+)", stream.read().decode(), re.MULTILINE)


class Replaced:
    """A file with other contents, or none, for a while."""

    def __init__(self, path: Path, contents: str | None) -> None:
        self._path, self._contents, self._kept = path, contents, path.read_text()

    def __enter__(self) -> None:
        self._path.unlink()
        if self._contents is not None:
            self._write(self._contents)

    def __exit__(self, *_: object) -> None:
        self._path.unlink(missing_ok=True)
        self._write(self._kept)

    def _write(self, contents: str) -> None:
        self._path.write_text(contents)
        self._path.chmod(0o444)


def wait(condition: Callable[[], bool], what: str, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(f"in vain for {timeout_s:.0f} s: {what}")
        time.sleep(0.5)


def inspected(thing: str, template: str) -> str:
    done = run("docker", "inspect", "--format", template, thing)
    require(done.returncode == 0, done.stderr)
    return done.stdout.strip()
