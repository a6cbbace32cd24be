"""Chooses the sandbox at start-up by really trying it: every wall from inside, then a kernel."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import Any

from worker.job import UNSANDBOXED
from worker.protocol.channel import RUNNER_FRAME_BYTES, Channel, PeerGone, ProtocolError, from_descriptor
from worker.sandbox.process import start
from worker.sandbox.profile import SandboxUnavailable, Walls
from worker.supervisor.runners import PROGRAMS, RunnerPool

START_WAIT_S = 60.0
TIER_A = "A"


@dataclass(frozen=True)
class SandboxChoice:
    """What stands between submissions and the machine; ``name`` is in every report."""

    name: str

    @property
    def sandboxed(self) -> bool:
        return self.name != UNSANDBOXED


def choose_sandbox(wanted: str, kind: str = "interpreter") -> SandboxChoice:
    """``auto`` (or ``A``) tries tier A, ``off`` does without, for development.

    Raises SandboxUnavailable, with the reason and the cure, when what is wanted cannot be built.
    """
    if wanted == "off":
        return SandboxChoice(UNSANDBOXED)
    if wanted not in ("auto", TIER_A):
        raise SandboxUnavailable(f"WARPGRADE_SANDBOX is {wanted!r}; it can be 'auto', 'A' or 'off'")
    _require_walls()
    _require_kernel(kind)
    return SandboxChoice(TIER_A)


def _require_walls() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    walls = Walls(programs=PROGRAMS, environment={})
    with ours, os.fdopen(read_end, "rb") as output:
        try:
            process = start(walls, ["worker.runner.probe", str(theirs.fileno())], (theirs.fileno(),), output=write_end)
        finally:
            theirs.close()
            os.close(write_end)
        try:
            holding = _answer(Channel(ours, RUNNER_FRAME_BYTES))["holding"]
        except (PeerGone, TimeoutError, ProtocolError) as error:
            process.kill()
            said = output.read(2000).decode("utf-8", "replace").strip()
            raise SandboxUnavailable(_cure(said or "the sandbox did not start")) from error
        process.kill()
    open_walls = [name for name, holds in holding.items() if not holds]
    if open_walls:
        raise SandboxUnavailable(f"the sandbox started, but does not hold for: {', '.join(open_walls)}")


def _require_kernel(kind: str) -> None:
    pool = RunnerPool({kind: 0}, sandboxed=True)
    runner = pool.take(kind)
    channel = from_descriptor(runner.socket, RUNNER_FRAME_BYTES)
    try:
        _answer(channel)
    except (PeerGone, TimeoutError, ProtocolError) as error:
        os.set_blocking(runner.output, False)
        said = os.read(runner.output, 4000).decode("utf-8", "replace").strip()
        raise SandboxUnavailable(f"no kernel runs inside the sandbox: {said[-1500:]}") from error
    finally:
        channel.close()
        os.close(runner.output)
        runner.kill()


def _answer(channel: Channel) -> dict[str, Any]:
    message, _ = channel.receive(START_WAIT_S)
    return message


def _cure(said: str) -> str:
    return (
        f"tier A (bubblewrap) cannot be built here: {said}. It needs user namespaces (sysctl "
        "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0) or root with "
        "CAP_SYS_ADMIN; WARPGRADE_SANDBOX=off does without, for development only"
    )
