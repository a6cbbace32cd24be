"""Which lane this machine can be: a GPU that a sandboxed kernel really ran on, else the interpreter."""

from __future__ import annotations

import os
from dataclasses import dataclass

from graders.verdict import Lane
from worker.sandbox.devices import gpu_nodes
from worker.sandbox.tiers import Sandbox
from worker.sandbox.walls import SandboxUnavailable
from worker.supervisor.device_lock import DeviceLock, LockUnavailable, NoLock, lock_for
from worker.supervisor.nvml import device_of_gpu
from worker.supervisor.sandbox_choice import choose_sandbox

STANDBY = {Lane.GPU: {"gpu": 2, "reference": 1}, Lane.INTERPRETER: {"interpreter": 1, "compiler": 1}}
"""Runners on standby by lane."""

STANDBY_OF_MANY = STANDBY | {Lane.GPU: {"gpu": min(8, max(2, (os.cpu_count() or 1) // 2)), "reference": 1}}
"""Where one grading follows the other: a GPU's runner takes longer to get warm than most submissions to be graded.
Each holds a context of the GPU, so there are no more than eight."""

_PROBED = {Lane.GPU: "gpu", Lane.INTERPRETER: "interpreter"}


@dataclass(frozen=True)
class Post:
    """What a worker is: its lane and its sandbox."""

    lane: Lane
    sandbox: Sandbox


def choose_post(wanted_lane: str, wanted_sandbox: str) -> Post:
    """``auto`` takes the GPU where there is one. Raises SandboxUnavailable when the lane cannot be had in a sandbox.

    A GPU that is there and does not work is told, not passed over: its operator wants to know. What is tried on it
    would stand in another worker's times, so that worker's grading is waited for.
    """
    lane = Lane(wanted_lane) if wanted_lane != "auto" else Lane.GPU if gpu_nodes() else Lane.INTERPRETER
    if lane is Lane.GPU and not gpu_nodes():
        raise SandboxUnavailable("WARPGRADE_LANE is 'gpu', but this machine has no GPU: there is no /dev/nvidia0")
    try:
        with _lock(lane).held(lambda: None):
            return Post(lane, choose_sandbox(wanted_sandbox, _PROBED[lane]))
    except LockUnavailable as error:
        raise SandboxUnavailable(f"nothing can be tried on the GPU: {error}") from error


def _lock(lane: Lane) -> DeviceLock | NoLock:
    """That of the lane's device. Whoever chooses a post may fork afterwards, so NVML is asked and given back."""
    device = device_of_gpu() if lane is Lane.GPU else None
    try:
        return lock_for(lane, device)
    finally:
        if device is not None:
            device.close()
