"""Processes, one a point: many compile at the same time, then they measure one after the other.

A child prepares, says that it is ready and waits. So torch.compile meets every shape for the first time, compilers use
all cores, only one process measures, and a kernel that brings its process down spoils one point.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench_points import Point, in_a_word

MARK = "@bench "
"""Begins the lines of a child that are meant for its parent; libraries print others."""

RESULT_S = 60.0
ONE_THREAD = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1"}


class Child:
    """A process that measures one point."""

    def __init__(self, program: Path, point: Point, options: dict[str, Any]) -> None:
        self.point = point
        self._process = subprocess.Popen(
            [sys.executable, str(program), "--child", point.to_json(), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | ONE_THREAD,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._errors: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout:
            if line.startswith(MARK):
                self._lines.put(line.removeprefix(MARK))
        self._lines.put(None)

    def _read_errors(self) -> None:
        for line in self._process.stderr:
            self._errors = [*self._errors[-20:], line]

    def heard(self, until: float) -> Any:
        """The next line for the parent; a dict with "error" if there is none."""
        try:
            line = self._lines.get(timeout=max(0.1, until - time.monotonic()))
        except queue.Empty:
            return {"error": "not in time"}
        if line is not None:
            return json.loads(line)
        self._process.wait(10)
        last = next((text.strip() for text in reversed(self._errors) if text.strip()), "")
        return {"error": f"exit code {self._process.returncode}: {last[:150]}"}

    def result(self) -> Any:
        try:
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
        except OSError as error:
            return {"error": in_a_word(error)}
        return self.heard(time.monotonic() + RESULT_S)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


def in_turn(
    program: Path, points: Sequence[Point], options: dict[str, Any], at_once: int, ready_s: float
) -> Iterator[tuple[Point, Any]]:
    """Every point with what its child measured, or {"error": …}, as soon as there is something. A child has so many
    seconds to get ready; one that has not, whose kernel may still run, is ended before another one measures."""
    for first in range(0, len(points), at_once):
        children = [Child(program, point, options) for point in points[first : first + at_once]]
        try:
            until = time.monotonic() + ready_s
            states = [child.heard(until) for child in children]
            for child, state in zip(children, states, strict=True):
                if "error" in state:
                    child.end()
            for child, state in zip(children, states, strict=True):
                yield child.point, (state if "error" in state else child.result())
                child.end()
        finally:
            for child in children:
                child.end()


def serve(prepare: Callable[[Point, dict[str, Any]], Callable[[], Any]]) -> None:
    """A child's life: prepare, wait to be told, measure, tell."""
    point, options = Point.from_json(sys.argv[2]), json.loads(sys.argv[3])
    measure = prepare(point, options)
    print(MARK + "{}", flush=True)
    if sys.stdin.readline():
        print(MARK + json.dumps(measure()), flush=True)
