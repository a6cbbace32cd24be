"""The compile check: host code runs for real, kernels are compiled for a GPU target and never launched.

Triton itself derives the specialisations from the arguments of each call, so what is compiled is what a GPU
would run. Compiles go to threads; the first specialisation is compiled for older and newer targets as well.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime._async_compile import AsyncCompileMode, active_mode
from triton.runtime.jit import JITFunction

from worker.runner import stub_driver, warmup
from worker.runner.memory import HostMapping
from worker.runner.session import Execute, bound_call

CAPABILITY = 90
OTHER_CAPABILITIES = (80, 100)
MAX_SPECIALISATIONS = 8
_THREADS = 2
_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


class CompileRecorder:
    """Compiles every new specialisation, at most ``MAX_SPECIALISATIONS``, and keeps what each one uses."""

    def __init__(self) -> None:
        self.kernels: list[dict[str, Any]] = []
        self._started = 0
        self._portable = False
        self._lock = threading.Lock()
        self._original_compile = triton.compiler.compile
        self._executor = ThreadPoolExecutor(_THREADS)
        self._mode: AsyncCompileMode | None = None

    def install(self) -> None:
        """Patch Triton so that launches compile only, through this recorder."""
        stub_driver.install(CAPABILITY, benchmarks_call=True)
        original_run = JITFunction.run

        def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            return original_run(kernel, *args, **(kwargs | {"warmup": True}))

        JITFunction.run = run
        triton.compiler.compile = self._compile
        knobs.runtime.jit_cache_hook = self._over_the_cap

    def begin(self) -> None:
        """Start anew, with a fresh cap."""
        self.kernels, self._started, self._portable = [], 0, False
        self._mode = AsyncCompileMode(self._executor)
        self._mode.__enter__()

    def finish(self) -> list[dict[str, Any]]:
        """Wait for all compiles; what the compiler raised is raised here."""
        mode, self._mode = self._mode, None
        if mode is not None:
            try:
                mode.__exit__(None, None, None)
            finally:
                active_mode.set(None)
        return self.kernels

    def _over_the_cap(self, **_: Any) -> bool:
        self._started += 1
        return self._started > MAX_SPECIALISATIONS

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
            self.kernels.append(kernel)


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
    recorder = CompileRecorder()
    recorder.install()
    recorder.begin()
    warmup.launch()
    recorder.finish()
    recorder.begin()

    def compile_call(entry: Callable[..., Any], message: dict[str, Any], arena: HostMapping) -> dict[str, Any]:
        bound_call(entry, message, arena)()
        return {"type": "returned", "launches": 0, "operations": [], "returned": None}

    def finish(_entry: Callable[..., Any], _message: dict[str, Any], _arena: HostMapping) -> dict[str, Any]:
        kernels = recorder.finish()
        recorder.begin()
        return {"type": "compiled", "kernels": kernels}

    return {"compile": compile_call, "finish": finish}
