#!/usr/bin/env python3
"""`make compose-check`: the containers for real, as a school runs them, with a line for each step and its time.

Builds the images, starts everything under a project name and secrets of its own, signs in, has submissions graded by
workers in their containers, adds a worker, takes all down and up again, kills a worker and Redis in the middle of their
work, restores a backup, and looks that bad secrets are refused. Leaves nothing behind but the engine's build cache.
Needs Docker with Compose 2.24 or newer; where no engine answers it says so in one line and ends well.

Uses Python's own library alone. WARPGRADE_* variables of the caller reach docker-compose.yml.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from compose_stack import GRADED_S, ROOT, Failed, Replaced, Stack, inspected, require, run, wait

CORPUS = ROOT / "graders/t2_softmax/submissions"
RIGHT = (CORPUS / "accepted/one_row_per_program.py").read_text()
WRONG = (CORPUS / "wrong_answer/no_max.py").read_text()
LEAST_COMPOSE = 2, 24
SLOW = f"""{RIGHT}

import time

quick = softmax


def softmax(x, out):
    time.sleep(0.2)
    quick(x, out)
"""
REACH = """
import socket

def reaches(place):
    try:
        socket.create_connection(place, 2).close()
    except OSError:
        return False
    return True

print(*map(reaches, places))
"""


# Each step is told by its name and its docstring, and returns what else is worth a word.


def build(stack: Stack) -> str:
    """the images are built"""
    stack.compose("build", "web", "postgres", "redis")
    return ", ".join(f"{name.partition(':')[0]} {size / 1e6:.0f} MB" for name, size in stack.images().items())


def users(stack: Stack) -> str:
    """nobody runs as root, and the images carry no compiler and no installer"""
    for name in stack.images():
        require(inspected(name, "{{.Config.User}}") not in ("", "root", "0"), name)
    tools = "for tool in gcc cc make pip; do ! command -v $tool || exit 1; done; id -un"
    done = run("docker", "run", "--rm", "--network", "none", f"warpgrade:{stack.name}", "sh", "-c", tools)
    require(done.stdout == "warpgrade\n", done)
    return ""


def refused(stack: Stack) -> str:
    """placeholder and missing secrets are refused, each with its sentence"""
    said = []
    for service, secret, sentence in (
        ("postgres", "database_password", "the secret /run/secrets/database_password is too short"),
        ("redis", "broker_password", "the secret /run/secrets/broker_password is too short"),
        ("migrate", "admin_token", "WARPGRADE_ADMIN_TOKEN is a placeholder or too short"),
        ("web", "database_password", "WARPGRADE_DATABASE_PASSWORD is a placeholder or too short"),
        ("cpu-worker", "broker_password", "WARPGRADE_BROKER_PASSWORD is a placeholder or too short"),
    ):
        with Replaced(stack.secrets / secret, "changeme"):
            done = stack.try_compose("run", "--rm", "--no-deps", "--quiet-pull", service)
        require(done.returncode != 0 and sentence in done.stdout + done.stderr, (service, done))
        said.append(service)
    with Replaced(stack.secrets / "admin_token", None):
        done = stack.try_compose("run", "--rm", "--no-deps", "migrate")
    require(done.returncode != 0 and "admin_token" in done.stderr, done)
    return ", ".join(said)


def start(stack: Stack) -> str:
    """everything is up: the migrations once, then the web service and a worker"""
    stack.up(1)
    logs = stack.compose("logs", "--no-log-prefix", "migrate")
    require(logs.count("the database is up to date") == 1, logs)
    return f"sandbox {stack.workers()[0]['sandbox']}"


def walls(stack: Stack) -> str:
    """read-only roots, limits, no privileges; workers reach Redis and PostgreSQL and nothing else"""
    for service in ("web", "cpu-worker", "postgres", "redis"):
        (container,) = stack.containers(service)
        config = json.loads(inspected(container, "{{json .HostConfig}}"))
        require(config["ReadonlyRootfs"] and config["Memory"] and config["PidsLimit"], (service, config))
        require(not config["Privileged"] and config["CapDrop"] == ["ALL"], (service, config))
        require(bool(config["PortBindings"]) == (service == "web"), (service, config["PortBindings"]))
    (web,) = stack.containers("web")
    networks = json.loads(inspected(web, "{{json .NetworkSettings.Networks}}"))
    places = [
        ("redis", 6379),
        ("postgres", 5432),
        ("web", 8000),
        *((net["IPAddress"], 8000) for net in networks.values()),
    ]
    seen = stack.compose("exec", "-T", "cpu-worker", "as-worker", "python", "-", stdin=f"places = {places}\n{REACH}")
    require(seen.split() == ["True", "True", *["False"] * (len(places) - 2)], seen)
    require(inspected(f"{stack.name}_worker_data", "{{.Internal}}") == "true", "the workers' network leads outside")
    ping = stack.compose("exec", "-T", "redis", "redis-cli", "ping")
    require("NOAUTH" in ping, ping)
    return ""


def sign_in(stack: Stack) -> str:
    """the administrator signs in with the token, and makes a student's"""
    jar = urllib.request.HTTPCookieProcessor()
    browser = urllib.request.build_opener(jar)
    form = urllib.parse.urlencode({"token": stack.admin, "next": "/"}).encode()
    post = urllib.request.Request(f"{stack.url}/login", data=form, headers={"Origin": stack.url})
    page = browser.open(post, timeout=20)
    require(page.status == 200 and "/login" not in page.url, page.url)
    require([cookie.name for cookie in jar.cookiejar] == ["warpgrade_session"], list(jar.cookiejar))
    stack.student = stack.compose("exec", "-T", "web", "warpgrade", "user", "add", "ada", "--role", "student").strip()
    status, me = stack.get("/api/v1/me", stack.student)
    require((status, me["role"]) == (200, "student"), me)
    require(stack.get("/api/v1/me", "wg_unknown")[0] == 401, "an unknown token was taken")
    return ""


def grade(stack: Stack) -> str:
    """a right and a wrong submission are graded by the worker in its container"""
    right, wrong = stack.submit(RIGHT, stack.student), stack.submit(WRONG, stack.student)
    report = stack.graded(right, "accepted")
    stack.graded(wrong, "wrong_answer")
    (container,) = stack.containers("cpu-worker")
    require(report["environment"]["worker"].startswith(container[:12]), report["environment"])
    stack.first = right
    return f"{report['score']:g} / {report['max_score']:g}, sandbox {report['environment']['sandbox']}"


def scale(stack: Stack) -> str:
    """a second worker is added, and two submissions are graded at once"""
    stack.up(2)
    for submission in [stack.submit(RIGHT), stack.submit(RIGHT)]:  # with its first one a worker proves itself
        stack.graded(submission, "accepted")
    pair = [stack.submit(SLOW), stack.submit(SLOW)]
    wait(lambda: all(stack.look(submission)["state"] == "testing" for submission in pair), "both at once", GRADED_S)
    workers = {stack.graded(submission, "accepted")["environment"]["worker"] for submission in pair}
    require(len(workers) == 2, workers)
    return ""


def again(stack: Stack) -> str:
    """down and up again: what was there is there"""
    before = stack.look(stack.first)
    stack.down()
    require(not run("docker", "ps", "-aq", "--filter", f"label=com.docker.compose.project={stack.name}").stdout, "left")
    stack.up(2)
    require(stack.look(stack.first) == before, "the report has changed")
    require(stack.get("/api/v1/me", stack.student)[0] == 200, "the student's token is gone")
    return ""


def kill_worker(stack: Stack) -> str:
    """a worker's container is killed while it grades: another ends it"""
    submission = stack.submit(SLOW)
    stack.wait_for(submission, "testing")
    victim = stack.grading()
    require(run("docker", "kill", victim).returncode == 0, victim)
    report = stack.graded(submission, "accepted")
    require(not report["environment"]["worker"].startswith(victim[:12]), report["environment"])
    require("restarted" in stack.events(submission), stack.events(submission))
    stack.up(2)
    return ""


def stop_worker(stack: Stack) -> str:
    """workers are told to stop while one grades: it is handed on, and nobody's fault"""
    submission = stack.submit(SLOW)
    stack.wait_for(submission, "testing")
    stack.compose("stop", "cpu-worker")
    require(stack.look(submission)["state"] == "queued", stack.look(submission)["state"])
    stack.up(2)
    stack.graded(submission, "accepted")
    faults = stack.query(f"SELECT faults FROM gradings WHERE submission_id = '{submission}'")  # noqa: S608 - our own
    require(faults == "[]", faults)
    return ""


def restart_redis(stack: Stack) -> str:
    """Redis is killed and started again with work queued and in progress: nothing is lost"""
    every = [stack.submit(RIGHT), stack.submit(WRONG), stack.submit(RIGHT)]
    stack.wait_for(every[0], "testing", "done")
    (container,) = stack.containers("redis")
    require(run("docker", "kill", container).returncode == 0, container)
    stack.compose("up", "--detach", "--no-build", "--no-recreate", "--scale", "cpu-worker=2")
    for submission, verdict in zip(every, ("accepted", "wrong_answer", "accepted"), strict=True):
        stack.graded(submission, verdict)
    return ""


def restore(stack: Stack) -> str:
    """a backup is taken, everything is removed, and the backup restored"""
    before = stack.look(stack.first)
    dump = stack.compose("exec", "-T", "postgres", "pg_dump", "-U", "postgres", "--clean", "--if-exists", "warpgrade")
    stack.down("--volumes")
    stack.compose("up", "--detach", "--no-build", "--wait", "postgres")
    stack.compose(
        "exec", "-T", "postgres", "psql", "-U", "postgres", "-q", "-v", "ON_ERROR_STOP=1", "warpgrade", stdin=dump
    )
    stack.up(1)
    require(stack.look(stack.first) == before, "the report has changed")
    stack.graded(stack.submit(WRONG, stack.student), "wrong_answer")
    return f"{len(dump) / 1e6:.1f} MB"


STEPS = (
    build,
    users,
    refused,
    start,
    walls,
    sign_in,
    grade,
    scale,
    again,
    kill_worker,
    stop_worker,
    restart_redis,
    restore,
)


def clean(stack: Stack) -> str:
    """nothing is left: no container, network, volume or image"""
    stack.down("--volumes", "--rmi", "all")
    label = f"label=com.docker.compose.project={stack.name}"
    left = [run("docker", kind, "ls", "-q", "--filter", label).stdout for kind in ("container", "network", "volume")]
    left.append(run("docker", "image", "ls", "-q", "--filter", f"reference=*:{stack.name}").stdout)
    require(not any(left), left)
    return ""


def told(number: int, step: Callable[[Stack], str], stack: Stack) -> None:
    """Do a step and print its line."""
    began = time.monotonic()
    said = step(stack)
    seconds = time.monotonic() - began
    print(f"{number:3}  {seconds:7.1f} s  {step.__doc__}{f' ({said})' if said else ''}", flush=True)


def engine_missing() -> str:
    """Why there is nothing to check with; empty when there is."""
    if shutil.which("docker") is None:
        return "there is no docker here"
    if run("docker", "info").returncode != 0:
        return "no Docker engine answers"
    said = run("docker", "compose", "version", "--short").stdout.strip()
    version = re.match(r"v?(\d+)\.(\d+)", said)
    if version is not None and (int(version[1]), int(version[2])) >= LEAST_COMPOSE:
        return ""
    least = ".".join(map(str, LEAST_COMPOSE))
    return f"Compose {least} or newer is needed, and Docker has {said or 'none'}"


def main() -> int:
    missing = engine_missing()
    if missing:
        print(f"compose-check: skipped: {missing}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(Path(folder))
        try:
            for number, step in enumerate(STEPS, 1):
                told(number, step, stack)
        except BaseException as error:
            print(f"compose-check: failed in '{step.__doc__}': {error}", flush=True)
            logs = stack.try_compose("logs", "--tail", "60")
            print(logs.stdout + logs.stderr)
            raise
        finally:
            told(len(STEPS) + 1, clean, stack)
    print("compose-check: all steps passed")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed:
        sys.exit(1)
