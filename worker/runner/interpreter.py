"""The interpreter lane: kernels run as Python on host tensors (the process has ``TRITON_INTERPRET=1``).

What Triton's interpreter lacks is mended here, for the versions supported: ``autotune`` gets a driver, launches
are counted, the observer does not see the interpreter's own operations (but what a kernel calls of torch, which it
can here, because it runs as Python), and storage that already is on the host is not copied onto itself (which would
touch every page of a sparse arena).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes
from triton.runtime import interpreter as triton_interpreter

from worker.runner import stub_driver, warmup
from worker.runner.memory import Mapping
from worker.runner.observer import LaunchObserver, OperationObserver
from worker.runner.session import Execute, bound_call


def install() -> LaunchObserver:
    """Patch the interpreter and return the observer of its launches."""
    observer = LaunchObserver()
    stub_driver.install(90)
    original_run = triton_interpreter.InterpretedFunction.run
    original_init = triton_interpreter.GridExecutor._init_args_hst
    original_restore = triton_interpreter.GridExecutor._restore_args_dev

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        if not warmup:
            observer.saw(self)
        return original_run(self, *args, grid=grid, warmup=warmup, **kwargs)

    def init(self: Any, *args: Any) -> Any:
        with _disable_current_modes():
            return original_init(self, *args)

    def restore(self: Any, args_dev: Any, args_hst: Any, kwargs: Any, kwargs_hst: Any) -> None:
        tensors = [value for value in (*args_dev, *kwargs.values()) if hasattr(value, "data_ptr")]
        if any(tensor.device.type != "cpu" for tensor in tensors):
            original_restore(self, args_dev, args_hst, kwargs, kwargs_hst)

    triton_interpreter.InterpretedFunction.run = run
    triton_interpreter.GridExecutor._init_args_hst = init
    triton_interpreter.GridExecutor._restore_args_dev = restore
    return observer


def executors() -> dict[str, Execute]:
    """``call``: one call, with what it launched and which operations it used."""
    launched = install()
    warmup.launch(torch.device("cpu"))
    warmup.operate(torch.device("cpu"))

    def call(entry: Callable[..., Any], message: dict[str, Any], arena: Mapping) -> dict[str, Any]:
        run = bound_call(entry, message, arena)
        launched.begin()
        with OperationObserver() as observer:
            result = run()
        return {
            "type": "returned",
            "launches": launched.count,
            "functions": launched.functions(),
            "operations": sorted(observer.operations),
            "returned": None if result is None else type(result).__name__[:100],
        }

    return {"call": call}
