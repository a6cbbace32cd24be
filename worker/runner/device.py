"""The GPU lane: kernels are compiled and launched for real, and every call ends with the device at rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes
from triton.runtime.jit import JITFunction

from worker.runner import warmup
from worker.runner.compile_pass import CompilePass
from worker.runner.failures import plain
from worker.runner.memory import Mapping
from worker.runner.observer import LaunchObserver, OperationObserver
from worker.runner.session import Execute, bound_call, function_of
from worker.runner.timing import TimedCalls

MAX_KERNELS = 64


class LaunchRecorder:
    """What is launched, and what each kernel that was compiled before takes, as the driver says."""

    def __init__(self) -> None:
        self.launched = LaunchObserver()
        self._compiled: list[Any] = []
        self._original_run = JITFunction.run

    def install(self) -> None:
        original_run = self._original_run

        def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            with _disable_current_modes():
                compiled = original_run(kernel, *args, **kwargs)
            if not kwargs.get("warmup"):
                self.launched.saw(kernel)
            elif len(self._compiled) < MAX_KERNELS and all(compiled is not known for known in self._compiled):
                self._compiled.append(compiled)
            return compiled

        JITFunction.run = run

    def uninstall(self) -> None:
        JITFunction.run = self._original_run

    def take(self) -> list[dict[str, Any]]:
        """What the kernels take that were compiled, and not launched, since the last time."""
        compiled, self._compiled = self._compiled, []
        return [_resources(kernel) for kernel in compiled]


def _resources(kernel: Any) -> dict[str, Any]:
    """Registers and spills are not known of a kernel that the device cannot load, for want of shared memory, say."""
    kernel = kernel.result() if hasattr(kernel, "result") else kernel  # a compiler thread's promise until Triton 3.6
    loaded = True
    try:
        kernel._init_handles()
    except Exception:
        loaded = False
    metadata = kernel.metadata
    return {
        "name": plain(str(metadata.name), 100),
        "target": f"sm_{metadata.target.arch}",
        "num_warps": int(metadata.num_warps),
        "num_stages": int(getattr(metadata, "num_stages", 0)) or None,
        "registers": int(kernel.n_regs) if loaded else None,
        "spill_bytes": int(kernel.n_spills) if loaded else None,
        "shared_bytes": int(metadata.shared),
    }


def executors() -> dict[str, Execute]:
    """``compile`` and ``finish``: a compile pass in threads; ``call``: one call, with what it launched."""
    recorder = LaunchRecorder()
    recorder.install()
    warmup.launch(torch.device("cuda"))
    warmup.operate(torch.device("cuda"))
    compile_pass = CompilePass(load=True)

    def compile_call(entry: Callable[..., Any], message: dict[str, Any], arena: Mapping) -> dict[str, Any]:
        with compile_pass.compiling():
            bound_call(function_of(entry, message), message, arena)()
        return {"type": "returned", "launches": 0, "operations": [], "returned": None}

    def finish(_entry: Callable[..., Any], _message: dict[str, Any], _arena: Mapping) -> dict[str, Any]:
        compile_pass.finish()
        return {"type": "compiled", "kernels": recorder.take()}

    def call(entry: Callable[..., Any], message: dict[str, Any], arena: Mapping) -> dict[str, Any]:
        run = bound_call(entry, message, arena)
        recorder.launched.begin()
        with OperationObserver() as observer:
            try:
                result = run()
            finally:
                # Nothing may run on when the judge is answered, after an exception neither. And a fault of the device
                # that a launch met first, as an error of Triton's, is raised here as what it is.
                torch.cuda.synchronize()
        return {
            "type": "returned",
            "launches": recorder.launched.count,
            "functions": recorder.launched.functions(),
            "operations": sorted(observer.operations),
            "returned": None if result is None else type(result).__name__[:100],
        }

    timed = TimedCalls()

    def prepare(entry: Callable[..., Any], message: dict[str, Any], arena: Mapping) -> dict[str, Any]:
        recorder.uninstall()
        return timed.prepare(entry, message, arena)

    executors = {"compile": compile_call, "finish": finish, "call": call}
    return executors | timed.executors() | {"prepare": prepare}
