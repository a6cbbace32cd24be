"""A hidden test, and what it asks of the worker."""

from __future__ import annotations

from dataclasses import dataclass

from graders.memory import Make
from graders.report import Message
from graders.verdict import Lane

_NO_INTERPRETER_ARITHMETIC = {"torch.bfloat16"}


@dataclass(frozen=True)
class Case:
    """A hidden test of a category of the manifest.

    ``make`` draws the call. ``calls`` > 1 repeats it into the same outputs, with fresh values each time, and all
    are checked.
    ``guards_inputs`` makes a changed input fail this case (the outputs are judged all the same).
    ``lanes`` are the lanes that can judge it; ``device_gb`` is the device memory it takes on a GPU.
    """

    name: str
    category: str
    make: Make
    calls: int = 1
    guards_inputs: bool = False
    lanes: frozenset[Lane] = frozenset(Lane)
    dtype: str = "float32"
    device_gb: float = 0.0

    def skip_reason(self, lane: Lane, device_gb: float = 0.0) -> Message | None:
        """Why this lane cannot judge the case, or None."""
        if lane not in self.lanes:
            return Message(key="skip.needs_gpu")
        if lane is Lane.INTERPRETER and f"torch.{self.dtype}" in _NO_INTERPRETER_ARITHMETIC:
            return Message(key="skip.interpreter_dtype", params={"dtype": self.dtype})
        if lane is Lane.GPU and self.device_gb > device_gb:
            return Message(key="skip.device_memory", params={"needed_gb": self.device_gb})
        return None
