"""The tiers that a sandbox can be: one interface, and what each of them promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from worker.sandbox import tier_a, tier_b
from worker.sandbox.process import SandboxedProcess
from worker.sandbox.walls import Walls


class Start(Protocol):
    """Starts ``program``, a Python module and its arguments, behind ``walls``.

    It inherits ``descriptors`` and nothing else; ``output`` is a descriptor for its standard output and error
    (default: discarded). It dies with whoever started it: in tier A that is the thread, in tier B the process.
    """

    def __call__(
        self, walls: Walls, program: list[str], descriptors: tuple[int, ...], output: int | None = None
    ) -> SandboxedProcess: ...


@dataclass(frozen=True)
class Sandbox:
    """What stands between a program and the machine.

    ``name`` is in every report. ``needs`` says what a machine must offer for it. ``open_walls`` are those of the walls
    that ``worker.runner.probe`` tries which it does not promise.
    """

    name: str
    start: Start
    needs: str = ""
    open_walls: frozenset[str] = frozenset()


TIER_A = Sandbox("A", tier_a.start, tier_a.NEEDS, frozenset({"message queues"}))
"""Message queues are in a namespace of the sandbox's own, so they are left to it."""

TIER_B = Sandbox("B", tier_b.start, tier_b.NEEDS, frozenset({"process list"}))
"""Other processes are seen by number and name, and cannot be touched."""
