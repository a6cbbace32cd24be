"""Chooses the sandbox at start-up by really trying it: every wall from inside, then a kernel."""

from __future__ import annotations

import os
import socket
from typing import Any

from graders.limits import Limits
from worker.job import UNSANDBOXED
from worker.protocol.channel import RUNNER_FRAME_BYTES, Channel, PeerGone, ProtocolError, from_descriptor
from worker.sandbox import bare
from worker.sandbox.tiers import TIER_A, TIER_B, Sandbox
from worker.sandbox.walls import SandboxUnavailable, Walls
from worker.supervisor.runners import PROGRAMS, RunnerPool

START_WAIT_S = 60.0
OFF = Sandbox(UNSANDBOXED, bare.start)

_ACCEPTED = {"auto": (TIER_A, TIER_B), TIER_A.name: (TIER_A,), TIER_B.name: (TIER_A, TIER_B), "off": (OFF,)}
"""What may be chosen, the strongest first, for each value of WARPGRADE_SANDBOX: the weakest that is wanted."""


def choose_sandbox(wanted: str, kind: str = "interpreter") -> Sandbox:
    """The strongest tier that holds here, and none that is weaker than ``wanted``: ``A`` or ``B`` (``auto``).
    ``off`` does without, for development.

    Raises SandboxUnavailable, with the reasons and the cures, when what is wanted cannot be built.
    """
    if wanted not in _ACCEPTED:
        raise SandboxUnavailable(f"WARPGRADE_SANDBOX is {wanted!r}; it can be 'auto', 'A', 'B' or 'off'")
    reasons = []
    for sandbox in _ACCEPTED[wanted]:
        if sandbox is OFF:
            return sandbox
        try:
            _require_walls(sandbox)
            _require_kernel(sandbox, kind)
        except SandboxUnavailable as reason:
            reasons.append(f"tier {sandbox.name} cannot be built here: {reason}. It needs {sandbox.needs}.")
        else:
            return sandbox
    reasons.append("WARPGRADE_SANDBOX=off does without, for development only")
    raise SandboxUnavailable("\n".join(reasons))


def _require_walls(sandbox: Sandbox) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    walls = Walls(programs=PROGRAMS, environment={})
    program = ["worker.runner.probe", str(theirs.fileno())]
    with ours, os.fdopen(read_end, "rb") as output, _bait():
        try:
            process = sandbox.start(walls, program, (theirs.fileno(),), output=write_end)
        finally:
            theirs.close()
            os.close(write_end)
        try:
            holding = _answer(Channel(ours, RUNNER_FRAME_BYTES))["holding"]
        except (PeerGone, TimeoutError, ProtocolError) as error:
            process.kill()
            said = output.read(2000).decode("utf-8", "replace").strip()
            raise SandboxUnavailable(said or "it did not start") from error
        process.kill()
    open_walls = [name for name, holds in holding.items() if not holds and name not in sandbox.open_walls]
    if open_walls:
        raise SandboxUnavailable(f"it started, but does not hold for: {', '.join(open_walls)}")


def _bait() -> socket.socket:
    """A socket that whoever finds it may connect to, for as long as it is open."""
    bait = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bait.bind("\0warpgrade-bait-" + os.urandom(8).hex())
    bait.listen()
    return bait


def _require_kernel(sandbox: Sandbox, kind: str) -> None:
    pool = RunnerPool({kind: 0}, sandbox=sandbox, limits=Limits())
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
