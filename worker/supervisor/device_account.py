"""How much of the device a runner may hold, and whether it holds more: arithmetic on what NVML and the judge say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from worker.device_ledger import DeviceLedger, Held
from worker.supervisor.nvml import DeviceUse

CONTEXT_BYTES = 768 << 20
"""What a CUDA context takes with torch's kernels and those of a submission loaded, amply."""


class Processes(Protocol):
    """A tree of processes."""

    def pids(self) -> list[int]: ...


class Judge(Protocol):
    """The judge whose share is known."""

    @property
    def process(self) -> Processes: ...

    @property
    def ledger(self) -> DeviceLedger: ...


@dataclass(frozen=True)
class Look:
    """One look at the device, with the judge's ledger before and after it."""

    use: DeviceUse
    before: Held | None
    after: Held | None

    @property
    def held(self) -> Held | None:
        """What the judge held all the while, or None when that may have changed."""
        return self.before if self.before == self.after else None


class DeviceAccount:
    """One runner's account. Feed it looks in the order of time; the first one opens it.

    Where NVML names processes by the ids that they have here, the runner's own memory counts. Whether it counts
    memory for all who map it or for its maker alone has changed between drivers, so arenas are allowed for as if for
    all: that errs by no more than their size, and never against the submission.

    In a container NVML may name none, or name the host's ids, which mean other processes here: it is believed only
    where it names the judge too. Otherwise the growth of all that is not the judge's counts, which is the runner's
    alone as long as nobody else uses the GPU; ``standby`` contexts of our own may come up meanwhile.
    """

    def __init__(self, runner: Processes, judge: Judge, *, limit_bytes: int, standby: int) -> None:
        self._runner, self._judge, self.ledger = runner, judge.process, judge.ledger
        self._limit_bytes = limit_bytes
        self._coming_bytes = (standby + 1) * CONTEXT_BYTES  # the runner's own context may be on its way too
        self._allowed_own_bytes: int | None = None
        self._least_rest_bytes: int | None = None
        self.exceeded = False

    def see(self, look: Look) -> None:
        """Take a look into account."""
        by_pid, held = look.use.by_pid, look.held
        named = _sum(by_pid, self._judge.pids()) > 0
        own_bytes = _sum(by_pid, self._runner.pids()) if named else 0
        made_bytes = self.ledger.made_bytes  # read after the look: no less than what the look can have seen
        if self._allowed_own_bytes is None:
            mapped_bytes = self.ledger.live_bytes - made_bytes
            self._allowed_own_bytes = max(own_bytes, CONTEXT_BYTES) + mapped_bytes + self._limit_bytes
        if named:
            self.exceeded |= own_bytes > self._allowed_own_bytes + made_bytes
        elif held is not None:
            self._see_rest(look.use.total_bytes - held.private_bytes - held.made_bytes)

    def _see_rest(self, rest_bytes: int) -> None:
        """``rest_bytes``: all that is used, without the judge's share and every arena that ever was.

        It falls when memory of others is given back, that of a killed runner for instance, and when an arena goes:
        counted from the least that was seen, it never shows a growth that was not there.
        """
        if self._least_rest_bytes is None or rest_bytes < self._least_rest_bytes:
            self._least_rest_bytes = rest_bytes
        self.exceeded |= rest_bytes - self._least_rest_bytes > self._limit_bytes + self._coming_bytes


def _sum(by_pid: dict[int, int], pids: Iterable[int]) -> int:
    return sum(by_pid.get(pid, 0) for pid in pids)
