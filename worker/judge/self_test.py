"""A drill's own code, tried within limits before it judges anybody."""

from __future__ import annotations

import contextlib
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from graders.cases import Case
from graders.memory import Call
from graders.rehearsal import Rehearsal
from graders.validation import Finding, FindingCode
from worker.job import SelfTest, SelfTested
from worker.judge.case_run import draw_call
from worker.judge.device import Device
from worker.judge.packages import Packages

SEED = "self-test"
"""Not secret: nobody is graded on these inputs."""


class TimeUp(BaseException):
    """The drill's code did not end in time. No exception that such code would catch by habit."""


def self_test(job: SelfTest, packages: Packages, package: int, device: Device) -> SelfTested:
    """Load the drill, draw its tests, try its oracle and its tolerance. Every fault of the drill is a finding."""
    rehearsal = Rehearsal(packages.unpacked(job.digest, package), job.slug, job.memory_mib)

    def draw(case: Case) -> Call:
        return draw_call(case, SEED, device)

    try:
        with _memory_limit(job.memory_mib), _time_limit(job.limit_s):
            rehearsal.run(draw, lambda case: device.skip_reason(case) is None)
    except TimeUp as late:
        file, line = rehearsal.place(late)
        code = FindingCode.LOAD_TIME_LIMIT
        rehearsal.findings.append(Finding.of(code, file=file, line=line, limit_s=job.limit_s))
    memory_mib = {drawn.name: drawn.memory_mib for drawn in rehearsal.drawn}
    return SelfTested(findings=rehearsal.findings, memory_mib=memory_mib)


@contextlib.contextmanager
def _time_limit(limit_s: float) -> Iterator[None]:
    """Raises TimeUp where the code stands after ``limit_s``, as soon as Python is asked again."""

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise TimeUp

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextlib.contextmanager
def _memory_limit(limit_mib: int) -> Iterator[None]:
    """No more than ``limit_mib`` of private memory beyond what is held now: what asks for more gets a MemoryError."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_data_bytes() + (limit_mib << 20), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _data_bytes() -> int:
    """What the kernel counts against RLIMIT_DATA."""
    status = Path("/proc/self/status").read_text("ascii", "replace")
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmData:"))
