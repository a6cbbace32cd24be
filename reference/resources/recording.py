"""What a call would launch on a GPU: Triton derives every kernel's specialisation from the call itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

NO_DEVICE = -1
"""The number of the device that is not there, so that no real one's kernel cache is touched."""


@dataclass(frozen=True)
class Launch:
    """A kernel as one call would have it compiled."""

    kernel: triton.JITFunction[Any]
    signature: dict[str, str]
    constants: dict[Any, Any]
    attributes: dict[Any, Any]
    warps: int
    stages: int
    registers: int | None = None
    """The most that a thread may have, if the call says so."""


class _NoDevice:
    """The part of a driver that a launch asks before it compiles."""

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return NO_DEVICE

    def get_current_stream(self, _device: int) -> int:
        return 0


def launches_of(call: Callable[[], object]) -> list[Launch]:
    """Make the ``call`` with nothing launched and nothing compiled; what it would have launched, in order.

    A launch's specialisation (a pointer's alignment, a stride that is 1 or divisible by 16) is the one for any target.
    """
    found: list[Launch] = []

    def record(*, fn: Any, compile: dict[str, Any], **_: Any) -> bool:
        found.append(
            Launch(
                kernel=fn.jit_function,
                signature=compile["signature"],
                constants=compile["constants"],
                attributes=compile["configs"][0],
                warps=compile["num_warps"],
                stages=compile["num_stages"],
                registers=json.loads(compile["specialization_data"])["options"]["maxnreg"],
            )
        )
        return True  # do not compile, and so do not launch

    with _nothing_launched(record):
        call()
    return found


@contextmanager
def _nothing_launched(hook: Callable[..., bool]) -> Iterator[None]:
    before = knobs.runtime.jit_cache_hook
    driver.set_active(_NoDevice())
    knobs.runtime.jit_cache_hook = hook
    try:
        yield
    finally:
        knobs.runtime.jit_cache_hook = before
        with suppress(RuntimeError):  # without a GPU there is no driver to go back to
            driver.reset_active()
