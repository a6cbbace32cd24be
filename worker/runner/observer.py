"""Which torch operations and which kernels a call used.

It sits in the untrusted process: honest use is seen, hiding is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from worker.runner.failures import plain

MAX_OPERATIONS = 128
MAX_FUNCTIONS = 64


class OperationObserver(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Collects the base names of dispatched operations, such as ``aten.empty``."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations: set[str] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: else the first operation imports all of ``torch._dynamo``, which takes seconds and 100 MiB."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if len(self.operations) < MAX_OPERATIONS:
            self.operations.add(func._schema.name.replace("::", ".")[:100])
        operation: Callable[..., Any] = func
        return operation(*args, **(kwargs or {}))


class LaunchObserver:
    """Counts launches since ``begin``, and keeps the names of the functions that were launched."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.count = 0
        self._names: set[str] = set()

    def saw(self, kernel: Any) -> None:
        """``kernel``, what ``triton.jit`` made, is launched."""
        self.count += 1
        if len(self._names) < MAX_FUNCTIONS:
            self._names.add(function_name(kernel))

    def functions(self) -> list[str]:
        return sorted(self._names)


def function_name(kernel: Any) -> str:
    """The name of the function that a kernel was made of."""
    return plain(str(getattr(kernel.fn, "__name__", "")), 100)
