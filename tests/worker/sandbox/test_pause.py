"""A paused tree is at rest, whatever it does to go on."""

from __future__ import annotations

import mmap
import os
import signal
import socket
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.container import in_tier
from tests.processes import descendants, pid_namespace, processes_in, processes_of, uid_of, wait_until
from worker.protocol.channel import Channel
from worker.sandbox import process
from worker.sandbox.process import SandboxedProcess
from worker.sandbox.tiers import TIER_A, Sandbox
from worker.sandbox.walls import Walls

PROBES = Path(__file__).with_name("probes")
LOOKS = 40


class Restless:
    """A sandboxed tree of processes, by default such that never rest and leave the time in a page."""

    def __init__(self, sandbox: Sandbox, probe: str = "restless") -> None:
        page = os.memfd_create("page", os.MFD_CLOEXEC)
        os.ftruncate(page, mmap.PAGESIZE)
        self.page = mmap.mmap(page, mmap.PAGESIZE)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        programs = {"worker": Path("worker").absolute(), "probe.py": PROBES / f"{probe}.py"}
        walls = Walls(programs=programs, environment={}, tasks=48)
        descriptors = (theirs.fileno(), page)
        self.process: SandboxedProcess = sandbox.start(walls, ["probe", *map(str, descriptors)], descriptors)
        theirs.close()
        os.close(page)
        channel = Channel(ours, 1 << 20)
        try:
            channel.receive(30)
        except BaseException:
            self.process.kill()
            raise
        channel.close()
        below = descendants(self.process.pid)
        if sandbox is TIER_A:
            (namespace,) = {pid_namespace(pid) for pid in below} - {pid_namespace(os.getpid()), None}
            self.alive = partial(processes_in, namespace)
        else:
            (uid,) = {uid_of(pid) for pid in below} - {None}
            self.alive = partial(processes_of, uid)

    @property
    def last_ns(self) -> int:
        """When one of them last ran, in nanoseconds of the monotonic clock."""
        return int.from_bytes(self.page[:8], "little")


@pytest.fixture
def restless(sandbox: Sandbox) -> Iterator[Restless]:
    restless = Restless(sandbox)
    yield restless
    restless.process.kill()


def test_a_tree_that_forks_and_wakes_itself_is_at_rest_after_pause(restless: Restless) -> None:
    for _ in range(20):
        restless.process.pause()
        paused_ns = time.monotonic_ns()
        for _ in range(LOOKS):
            Path("/etc/ld.so.cache").read_bytes()  # which one of them watches
            assert _running(restless) == []
            assert restless.last_ns <= paused_ns
        restless.process.resume()
        wait_until(lambda: restless.last_ns > paused_ns, "the tree runs again")  # noqa: B023


def test_pausing_twice_is_pausing_once(restless: Restless) -> None:
    restless.process.pause()
    restless.process.pause()
    paused_ns = time.monotonic_ns()
    restless.process.resume()
    wait_until(lambda: restless.last_ns > paused_ns, "the tree runs again")


@pytest.fixture
def calm(sandbox: Sandbox) -> Iterator[Restless]:
    calm = Restless(sandbox, "hung_up")
    yield calm
    calm.process.kill()


def test_a_tree_that_was_continued_and_stopped_again_has_not_rested(calm: Restless) -> None:
    assert calm.process.pause()
    assert all(calm.process.rested() for _ in range(LOOKS))
    looked = calm.page[1]
    _send(calm, signal.SIGCONT)
    wait_until(lambda: calm.page[1] != looked, "it runs again")
    _send(calm, signal.SIGSTOP)
    wait_until(lambda: not _running(calm), "it is stopped again")
    assert not calm.process.rested()
    assert calm.process.rested(), "it was paused once more"


def test_a_terminal_that_hangs_up_continues_what_was_paused() -> None:
    """And that is noticed. Anybody on the machine who closes a socket brings it about, before the pause as well."""
    with in_tier("A") as tier_a:
        hung_up = Restless(tier_a, "hung_up")
    process = hung_up.process

    def continued() -> bool:
        hung_up.page[0] = 1
        wait_until(lambda: hung_up.page[0] == 2, "a terminal is left")
        paused = process.pause()
        socket.socket(socket.AF_UNIX).close()
        rested = [process.rested() for _ in range(LOOKS)]
        process.resume()
        return paused and not all(rested)

    try:
        wait_until(continued, "a paused tree is continued")
    finally:
        process.kill()


def test_a_paused_tree_can_be_killed(restless: Restless) -> None:
    restless.process.pause()
    restless.process.kill()
    wait_until(lambda: restless.alive() == [], "nothing is left")
    restless.process.resume()


def test_nobody_is_stopped_in_the_place_of_a_tree_that_has_ended(
    restless: Restless, monkeypatch: pytest.MonkeyPatch
) -> None:
    restless.process.kill()
    signalled: list[int] = []
    monkeypatch.setattr(process, "_stop_all", lambda roots: (signalled.extend(roots), (roots, True))[1])
    assert not restless.process.pause()
    assert signalled == [], "its number may be somebody else's"


def _send(restless: Restless, number: signal.Signals) -> None:
    for pid in restless.alive():
        os.kill(pid, number)


def _running(restless: Restless) -> list[int]:
    """Its processes with a thread that is neither stopped nor dead."""
    found = []
    for pid in restless.alive():
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            state = next(line for line in status.read_text().splitlines() if line.startswith("State:"))
            if state.split()[1] not in "TZX":
                found.append(pid)
    return found
