"""Stops a runner that holds too much memory or too many tasks: a cgroup's work where none can be written.

Device memory, which no cgroup counts, is looked at by a thread of its own.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from graders.limits import Limits
from worker.supervisor.device_account import Judge
from worker.supervisor.device_watch import DeviceWatch
from worker.supervisor.runners import Runner

INTERVAL_S = 0.03

DEVICE_LIMITED = ("gpu",)
"""Kinds of runners whose device memory is limited: those on a GPU that hold a submission."""


@dataclass
class _Watched:
    runner: Runner
    memory_bytes: int
    tasks: int
    reason: str | None = None


class Watchdog:
    """A thread that polls the runners handed to a judge. Without ``device`` the device's memory is not limited."""

    def __init__(self, device: DeviceWatch | None = None) -> None:
        self._device = device
        self._lock = threading.Lock()
        self._watched: dict[int, _Watched] = {}
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
        self._thread.start()

    def watch(self, runner: Runner, limits: Limits, judge: Judge | None = None) -> None:
        """Watch ``runner``, about to go to ``judge``: its limits of memory are above what it holds on standby."""
        if self._device is not None and judge is not None and runner.kind in DEVICE_LIMITED:
            self._device.watch(runner, judge, limits.device_memory_mib << 20)
        base = runner.process.usage().memory_bytes
        with self._lock:
            self._watched[runner.id] = _Watched(runner, base + (limits.host_memory_mib << 20), limits.tasks)
        self._wake.set()

    def unwatch(self, runner: Runner) -> str | None:
        """Stop watching; why the watchdog stopped the runner, or None if it did not.

        The reasons: 'memory', 'tasks', 'scratch', 'device_memory'.
        """
        if self._device is not None:
            self._device.unwatch(runner.id)
        with self._lock:
            watched = self._watched.pop(runner.id, None)
        return watched.reason if watched else None

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        self._thread.join()
        if self._device is not None:
            self._device.close()

    def _run(self) -> None:
        while not self._closed:
            with self._lock:
                watched = list(self._watched.values())
            if not watched:
                self._wake.wait()
                self._wake.clear()
                continue
            for item in watched:
                self._check(item)
            self._wake.wait(INTERVAL_S)
            self._wake.clear()

    def _check(self, item: _Watched) -> None:
        if item.reason is not None or item.runner.process.returncode is not None:
            return
        usage = item.runner.process.usage()
        if usage.tasks > item.tasks:
            item.reason = "tasks"
        elif usage.memory_bytes > item.memory_bytes and item.runner.process.exact_memory_bytes() > item.memory_bytes:
            item.reason = "memory"  # forked processes share their pages: only the exact sum may accuse
        elif usage.scratch_full:
            item.reason = "scratch"
        elif self._device is not None and self._device.exceeded(item.runner.id):
            item.reason = "device_memory"
        if item.reason is not None:
            item.runner.kill()
