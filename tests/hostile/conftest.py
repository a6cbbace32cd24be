"""The real supervisor, a package reduced to what a trick needs, and the naive grader."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from graders.package import Package
from tests.hostile.judged import reduced
from tests.processes import unwatched
from tests.worker.conftest import package, supervisor

__all__ = ["naive", "package", "reduced_package", "supervisor"]

Naive = Callable[[Path], dict[str, Any]]


@pytest.fixture(scope="session")
def reduced_package(package: Package) -> Package:
    return reduced(package)


@pytest.fixture(scope="session")
def naive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Naive]:
    """The naive grader's result for a file: what it printed last, and ``returncode``."""
    scratch = tmp_path_factory.mktemp("naive")
    environment = unwatched() | {"TRITON_INTERPRET": "1", "GRADER_SEED": str(secrets.randbelow(1 << 30))}
    command = [sys.executable, str(Path(__file__).with_name("zygote.py")), str(scratch)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
    ) as zygote:
        assert zygote.stdin is not None
        assert zygote.stdout is not None
        answers = zygote.stdout

        def grade(path: Path) -> dict[str, Any]:
            print(path, file=zygote.stdin, flush=True)
            ended = json.loads(answers.readline())
            lines = ended["stdout"].splitlines()
            result = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
            return {"returncode": ended["returncode"], **result}

        yield grade
        zygote.kill()
