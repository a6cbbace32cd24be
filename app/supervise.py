"""Child processes that live as long as we do: started in order, restarted when they die, never left behind."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TIED = Path(__file__).with_name("tied.py")
_LOOK_S = 0.2
_FIRST_DELAY_S = 0.5
_LONGEST_DELAY_S = 30.0
_SETTLED_S = 60.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Child:
    """What to run, in which environment (all of it).

    ``ready`` is asked after each start, until it is true or ``ready_s`` have passed. ``stop_s`` is how long
    the child may take to end by itself before it is killed with its whole process group.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    ready: Callable[[], bool] = lambda: True
    ready_s: float = 10.0
    stop_s: float = 5.0


class Supervisor:
    """Keeps children running. They are started by one thread that stays: the kernel ties a child to the *thread*
    that made it, so a short-lived one would take its children along."""

    def __init__(self, children: Sequence[Child]) -> None:
        self._keepers = [_Keeper(child) for child in children]
        self._stopping = threading.Event()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)

    def start(self) -> None:
        """Start the children in order, each when the one before it is ready; returns when all were tried."""
        self._thread.start()
        self._started.wait()

    def stop(self) -> None:
        """Stop the children, the last one first, and wait until they are gone."""
        self._stopping.set()
        self._thread.join()

    def __enter__(self) -> Supervisor:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            for keeper in self._keepers:
                keeper.tend(self._stopping)
            self._started.set()
            while not self._stopping.wait(_LOOK_S):
                for keeper in self._keepers:
                    keeper.tend(self._stopping)
        finally:
            for keeper in reversed(self._keepers):
                keeper.stop()
            self._started.set()


class _Keeper:
    """One child and its restarts."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0
        self._delay_s = _FIRST_DELAY_S
        self._not_before = 0.0

    def tend(self, stopping: threading.Event) -> None:
        """Start the child if it does not run and its time has come."""
        if self._process is not None:
            status = self._process.poll()
            if status is None:
                return
            self._died(status)
        if time.monotonic() >= self._not_before and not stopping.is_set():
            self._start(stopping)

    def stop(self) -> None:
        """End the child and whatever it has left in its process group."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(self._child.stop_s)
        except subprocess.TimeoutExpired:
            _log.warning("%s does not stop; killing it", self._child.name)
        _kill_group(process.pid)
        process.wait()

    def _start(self, stopping: threading.Event) -> None:
        command = [sys.executable, "-I", "-S", str(_TIED), str(os.getpid()), *self._child.command]
        # A session of its own, so that Ctrl-C reaches us alone and we stop the children in order.
        self._process = subprocess.Popen(
            command, env=self._child.environment, stdin=subprocess.DEVNULL, start_new_session=True
        )
        self._began = time.monotonic()
        deadline = self._began + self._child.ready_s
        while not self._child.ready() and time.monotonic() < deadline and self._process.poll() is None:
            if stopping.wait(_LOOK_S / 4):
                return

    def _died(self, status: int) -> None:
        assert self._process is not None  # noqa: S101 - only a child that was started has a status
        _kill_group(self._process.pid)
        self._process = None
        if time.monotonic() - self._began > _SETTLED_S:
            self._delay_s = _FIRST_DELAY_S
        _log.error("%s ended (%s); starting it again in %.1f s", self._child.name, _reason(status), self._delay_s)
        self._not_before = time.monotonic() + self._delay_s
        self._delay_s = min(2 * self._delay_s, _LONGEST_DELAY_S)


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _reason(status: int) -> str:
    return f"exit code {status}" if status >= 0 else signal.Signals(-status).name
