"""The compile check without a GPU: kernels are compiled for sm_90, the first also for an older and a newer target."""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
from triton import knobs
from triton.backends.compiler import GPUTarget

from worker.runner import stub_driver, warmup
from worker.runner.compile_pass import CompilePass
from worker.runner.memory import Mapping
from worker.runner.observer import function_name
from worker.runner.session import Execute, bound_call

CAPABILITY = 90
OTHER_CAPABILITIES = (80, 100)
MAX_SPECIALISATIONS, MAX_MORE = 8, 4
"""Of the first pass, and of each later one."""
MAX_FUNCTIONS = 16
"""Of each of so many kernels one specialisation is compiled whatever the cap says: none may hide behind others."""

_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


class CompileRecorder:
    """Watches every compile for sm_90, up to the cap, and keeps what each one uses."""

    def __init__(self) -> None:
        self._original_compile = triton.compiler.compile
        self._lock = threading.Lock()
        self._portable = False
        self._begin(MAX_SPECIALISATIONS)

    def install(self) -> None:
        """Have Triton compile through this recorder, for a GPU that is not there."""
        stub_driver.install(CAPABILITY)
        triton.compiler.compile = self._compile
        knobs.runtime.jit_cache_hook = self._over_the_cap

    def take(self) -> tuple[list[dict[str, Any]], list[str]]:
        """What was compiled since the last time, and the names of its functions; the cap begins anew."""
        taken = self._kernels, sorted(set(self._functions.values()))
        self._begin(MAX_MORE)
        return taken

    def forget(self) -> None:
        """Begin anew, as if nothing had been compiled."""
        self._portable = False
        self._begin(MAX_SPECIALISATIONS)

    def _begin(self, most: int) -> None:
        self._kernels: list[dict[str, Any]] = []
        self._functions: dict[str, str] = {}
        self._left = most

    def _over_the_cap(self, *, fn: Any, **_: Any) -> bool:
        self._left -= 1
        source = fn.jit_function.cache_key
        hidden = source not in self._functions and len(self._functions) < MAX_FUNCTIONS
        if self._left < 0 and not hidden:
            return True
        self._functions[source] = function_name(fn.jit_function)
        return False

    def _compile(self, src: Any, target: Any = None, options: Any = None, **kwargs: Any) -> Any:
        compiled = self._original_compile(src, target=target, options=options, **kwargs)
        self._record(compiled, CAPABILITY)
        with self._lock:
            first, self._portable = not self._portable, True
        if first:
            self._compile_for_other_targets(src, options or {})
        return compiled

    def _compile_for_other_targets(self, src: Any, options: dict[str, Any]) -> None:
        portable = {name: options[name] for name in ("num_warps", "num_stages", "num_ctas") if name in options}
        for capability in OTHER_CAPABILITIES:
            # A kernel may use what only sm_90 has: another target that refuses it is no finding.
            with contextlib.suppress(Exception):
                target = GPUTarget("cuda", capability, 32)
                self._record(self._original_compile(src, target=target, options=portable), capability)

    def _record(self, compiled: Any, capability: int) -> None:
        metadata = compiled.metadata
        kernel = {
            "name": str(metadata.name)[:100],
            "target": f"sm_{capability}",
            "num_warps": int(metadata.num_warps),
            "num_stages": int(getattr(metadata, "num_stages", 0)) or None,
            "shared_bytes": int(metadata.shared),
            **resource_usage(compiled.asm["cubin"]),
        }
        with self._lock:
            self._kernels.append(kernel)


def resource_usage(cubin: bytes) -> dict[str, int]:
    """Registers a thread and spilled bytes a thread, as ``cuobjdump`` reads them from the compiled kernel."""
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run(
            [tool, "--dump-resource-usage", file.name], capture_output=True, text=True, timeout=20, check=False
        )
    found = _USAGE.search(done.stdout)
    return {"registers": int(found[1]), "spill_bytes": int(found[2])} if found else {}


def executors() -> dict[str, Execute]:
    """``compile``: the host code of one call, its kernels going to the compiler; ``finish``: wait for them all."""
    recorder, compile_pass = CompileRecorder(), CompilePass()
    recorder.install()
    with compile_pass.compiling():
        warmup.launch(torch.device("cpu"))
    compile_pass.finish()
    recorder.forget()

    def compile_call(entry: Callable[..., Any], message: dict[str, Any], arena: Mapping) -> dict[str, Any]:
        with compile_pass.compiling():
            bound_call(entry, message, arena)()
        return {"type": "returned", "launches": 0, "operations": [], "returned": None}

    def finish(_entry: Callable[..., Any], _message: dict[str, Any], _arena: Mapping) -> dict[str, Any]:
        compile_pass.finish()
        kernels, functions = recorder.take()
        return {"type": "compiled", "kernels": kernels, "functions": functions}

    return {"compile": compile_call, "finish": finish}
