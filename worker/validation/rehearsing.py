"""Has a judge of its own load and try a drill: code that nobody has seen yet runs behind walls and within limits."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from graders.package import Package
from graders.validation import Finding, FindingCode
from graders.verdict import Lane
from worker.job import SelfTest, SelfTested
from worker.protocol.channel import PeerGone, ProtocolError
from worker.supervisor.device_lock import LockUnavailable, lock_for
from worker.supervisor.judge_process import JudgeProcess
from worker.supervisor.lane import Post
from worker.supervisor.nvml import device_of_gpu
from worker.supervisor.supervisor import JudgeFailed

LIMIT_S = 60.0
MEMORY_MIB = 2048
SLACK_S = 5.0
"""How long after its limit the drill's code may take to give way: code outside Python does not see the limit."""

_POLL_S = 0.25
_EXIT_WAIT_S = 2.0


def rehearse(package: Package, post: Post, require_wanted: Callable[[], None], limit_s: float = LIMIT_S) -> SelfTested:
    """What the drill's own code shows. ``require_wanted`` is asked several times a second and may raise to give up.

    Raises JudgeFailed when the judge does not start or fails by itself.
    """
    device = device_of_gpu() if post.lane is Lane.GPU else None
    job = SelfTest(slug=package.slug, digest=package.digest, limit_s=limit_s, memory_mib=MEMORY_MIB)
    try:
        with lock_for(post.lane, device).held(require_wanted), _judge(post) as judge:
            judge.send_job(job.model_dump(mode="json"), package.to_zip(), "self_test")
            return _answer(judge, limit_s, require_wanted)
    except LockUnavailable as error:
        raise JudgeFailed(str(error)) from error


@contextlib.contextmanager
def _judge(post: Post) -> Iterator[JudgeProcess]:
    """A judge that takes jobs. Raises JudgeFailed when it does not come to that."""
    judge = JudgeProcess(post.lane, sandbox=post.sandbox, log=2)
    try:
        try:
            judge.wait_ready()
        except (PeerGone, ProtocolError, TimeoutError) as error:
            raise JudgeFailed(f"the judge did not start: {type(error).__name__}: {error}") from error
        yield judge
    finally:
        judge.kill()


def _answer(judge: JudgeProcess, limit_s: float, require_wanted: Callable[[], None]) -> SelfTested:
    deadline = time.monotonic() + limit_s + SLACK_S
    while True:
        require_wanted()
        try:
            message, _ = judge.channel.receive(_POLL_S)
        except TimeoutError:
            if time.monotonic() > deadline:
                return SelfTested(findings=[Finding.of(FindingCode.LOAD_TIME_LIMIT, limit_s=limit_s)])
            continue
        except (PeerGone, ProtocolError) as error:
            return SelfTested(findings=[_crashed(judge, error)])
        if message["type"] == "self_tested":
            return SelfTested.model_validate(message["tested"])
        raise JudgeFailed(str(message.get("reason", message["type"])))


def _crashed(judge: JudgeProcess, error: Exception) -> Finding:
    code = judge.process.wait(_EXIT_WAIT_S)
    how = str(error) if code is None else f"signal {-code}" if code < 0 else f"exit code {code}"
    return Finding.of(FindingCode.LOAD_CRASHED, reason=how)
