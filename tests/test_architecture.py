"""What import-linter cannot see: sizes, and what a process really loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import LONGEST_FIRST

ROOT = Path(__file__).parent.parent
PACKAGES = ("app", "worker", "graders", "reference")
MAX_LINES = 400


def modules() -> list[Path]:
    return sorted(
        path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if not path.match("graders/*/submissions/*/*")
    )


def test_modules_stay_small() -> None:
    sizes = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in modules()}
    assert len(sizes) > 50
    assert {path: lines for path, lines in sizes.items() if lines > MAX_LINES} == {}


def test_what_is_to_run_first_is_there() -> None:
    assert [name for name in LONGEST_FIRST if not (ROOT / "tests" / name).is_file()] == []


@pytest.mark.parametrize(
    "module",
    [
        "app.main",
        "app.cli",
        "worker.main",
        "worker.tasks",
        "worker.validator",
        "worker.supervisor.supervisor",
        "worker.grade",
        "worker.validation.__main__",
    ],
)
def test_processes_that_serve_and_supervise_load_no_torch(module: str) -> None:
    loaded = f"import {module}, sys; print([name for name in ('torch', 'triton', 'numpy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_runner_loads_nothing_of_ours_but_itself_and_the_protocol() -> None:
    loaded = (
        "import worker.runner.__main__, worker.runner.interpreter, worker.runner.compiling, sys; "
        "ours = [n for n in sys.modules if n.split('.')[0] in ('app', 'worker', 'graders', 'reference')]; "
        "print(sorted(n for n in ours if not n.startswith(('worker.runner', 'worker.protocol'))))"
    )
    done = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['worker']"
