"""Which torch operations a call used. It sits in the untrusted process: honest use is seen, hiding is possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

MAX_OPERATIONS = 128


class OperationObserver(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Collects the base names of dispatched operations, such as ``aten.empty``."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations: set[str] = set()

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if len(self.operations) < MAX_OPERATIONS:
            self.operations.add(func._schema.name.replace("::", ".")[:100])
        operation: Callable[..., Any] = func
        return operation(*args, **(kwargs or {}))
