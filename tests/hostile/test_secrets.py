"""What a loaded submission can find out during a call, beyond what a bare process in the sandbox can (test_walls)."""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import Any

import pytest

from graders.package import Package
from tests.faults import RIGHT
from tests.worker.conftest import Quiet, make_job, warm_supervisor

SEED_START, WORKER_START = "5eed5eed", "worker-of-"

SPY = """
import gc, json, re, socket

SECRETS = {  # patterns that do not match themselves, for they lie in this memory too
    "seed": "5eed5eed[0-9a-f]{24}",
    "worker": "worker-of-[0-9a-f]{8}",
    "tolerance": "one[_]rounding",
    "reason": "Right float32[ ]arithmetic",
    "cases": "def rows[_]of_different_scale",
    "oracle": "def oracle[(]x: torch",
    "settings": "WARPGRADE[_][A-Z]+",
    "broker": "redis[:]//|valkey[.]sock",
}


OURS = ("app", "graders", "reference", "worker")


def memory():
    with open("/proc/self/mem", "rb", buffering=0) as file:
        for line in open("/proc/self/maps"):
            span, rights, *_ = line.split()
            start, end = (int(part, 16) for part in span.split("-"))
            if rights.startswith("rw"):
                try:
                    file.seek(start)
                    yield file.read(end - start)
                except (OSError, ValueError, OverflowError):
                    continue


def found_in_memory():
    patterns = {name: re.compile(pattern.encode()) for name, pattern in SECRETS.items()}
    found = set()
    for block in memory():
        for name, pattern in patterns.items():
            if pattern.search(block):
                found.add(name)
    return sorted(found)


def links(folder):
    found = []
    for name in os.listdir(folder):
        try:
            found.append(os.readlink(f"{folder}/{name}"))
        except OSError:
            continue
    return found


def names_in(folder):
    try:
        return os.listdir(folder)
    except PermissionError:
        return []


def sockets():
    rows = [line.split(maxsplit=7) for line in open("/proc/net/unix")]
    return {row[7].strip().replace("@", chr(0), 1) for row in rows if len(row) > 7 and row[3] == "00010000"}


def can_connect(name):
    with socket.socket(socket.AF_UNIX) as made:
        try:
            made.connect(name)
        except OSError:
            return False
    return True


def look(x, out):
    tensors = [thing for thing in gc.get_objects() if isinstance(thing, torch.Tensor)]
    return {
        "in_memory": found_in_memory(),
        "mapped": sorted({line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if len(line.split()) > 5}),
        "descriptors": sorted(re.sub("[0-9]+", "", link) for link in links("/proc/self/fd")),
        "foreign_tensors": [list(t.shape) for t in tensors if t is not x and t is not out and t.shape == x.shape],
        "reachable": [name for name in sockets() if can_connect(name)],
        "modules": sorted(name for name in sys.modules if name.split(".")[0] in OURS),
        "scratch": sorted(os.listdir(os.environ["TMPDIR"])),
        "shm": names_in("/dev/shm"),
    }


told = False
honest = softmax
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def softmax(x, out):
    global told
    honest(x, out)
    if INTERPRETED and not told:
        told = True
        print("SEEN " + json.dumps(look(x, out)), flush=True)
"""


@pytest.fixture(scope="module", params=["A", "B"])
def seen(request: pytest.FixtureRequest, reduced_package: Package) -> dict[str, Any]:
    """What a submission reports from inside its first call, in each tier."""
    job = make_job(RIGHT + SPY, reduced_package, case_s=20.0).model_copy(
        update={"seed": SEED_START + secrets.token_hex(12), "worker": WORKER_START + secrets.token_hex(4)}
    )
    with warm_supervisor(request.param) as supervisor:
        report = supervisor.grade(job, reduced_package.to_zip(), Quiet())
    line = next(line for case in report.cases for line in (case.stdout or "").splitlines() if line.startswith("SEEN "))
    found: dict[str, Any] = json.loads(line.removeprefix("SEEN "))
    return found


def test_its_memory_holds_no_secret(seen: dict[str, Any]) -> None:
    assert seen["in_memory"] == []


def test_it_maps_libraries_and_its_arena_alone(seen: dict[str, Any]) -> None:
    python = {sys.prefix, sys.base_prefix, *(str(Path(p).resolve()) for p in (sys.prefix, sys.base_prefix))}
    known = ("/usr/", "/lib/", "/lib64/", "[", "anon_inode:", "/memfd:arena", "/dev/zero", *python)
    assert [path for path in seen["mapped"] if not path.startswith(known)] == []


def test_it_holds_its_streams_its_channel_and_nothing_else(seen: dict[str, Any]) -> None:
    held = [link for link in seen["descriptors"] if not link.startswith("/proc/")]
    assert held == ["/dev/null", "/memfd:arena (deleted)", "pipe:[]", "pipe:[]", "socket:[]"]
    assert seen["reachable"] == []


def test_it_finds_no_tensor_but_its_arguments(seen: dict[str, Any]) -> None:
    assert seen["foreign_tensors"] == []


def test_it_meets_no_code_but_the_runners_and_its_own(seen: dict[str, Any]) -> None:
    ours = [name for name in seen["modules"] if not name.startswith(("worker.runner", "worker.protocol"))]
    assert ours == ["worker"]
    assert set(seen["scratch"]) <= {"submission.py", "triton", "__pycache__"}
    assert seen["shm"] == []
