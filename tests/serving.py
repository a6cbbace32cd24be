"""A running ``warpgrade serve``, as an operator starts it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.processes import descendants, wait_until

CLI = [sys.executable, "-m", "app.cli"]
ROOT = Path(__file__).parent.parent


class Served:
    """A running ``warpgrade serve`` and its children."""

    def __init__(self, data: Path, **environment: str) -> None:
        self.data = data
        self.log = data.with_suffix(".log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*CLI, "serve"], cwd=ROOT, stdout=log, stderr=log, env=environment_of(data, **environment)
            )
        wait_until(lambda: "startup complete" in self.output, "the service starts", 60)
        found = re.search(r"http://[\d.]+:\d+", self.output)
        assert found
        self.url = found[0]

    @property
    def output(self) -> str:
        return self.log.read_text()

    def child(self, word: str) -> int:
        """The process whose command line contains ``word``."""
        found: list[int] = []

        def look() -> bool:
            for pid in descendants(self.process.pid):
                try:
                    command = Path(f"/proc/{pid}/cmdline").read_text("latin-1")
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if word in command and "tied.py" not in command:
                    found.append(pid)
            return bool(found)

        wait_until(look, f"{word} runs")
        return found[0]


def environment_of(data: Path, **environment: str) -> dict[str, str]:
    """Ours without settings, and those that are given."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("WARPGRADE_")}
    return {**ours, "WARPGRADE_DATA": str(data), "PORT": "0", "PYTHONPATH": str(ROOT), **environment}
