"""Compiles what calls launch, without launching it: host code runs for real, kernels go to compiler threads.

Triton itself derives the specialisations from the arguments of each call, so what is compiled is what a GPU runs.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from triton.runtime._async_compile import AsyncCompileMode, active_mode
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

_MAX_THREADS = 8


class _NoCollection:
    """The garbage collector rests while any holder is within.

    A collection in the middle of ``ast.parse`` may run Python code, and so let another thread parse: CPython counts
    the depth of both in one place and raises SystemError (gh-106905), which would read as the submission's mistake.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._was_enabled = False

    def hold(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._was_enabled:
                gc.enable()


class _Compilers(ThreadPoolExecutor):
    """Compiler threads; with ``load`` they also load what they compiled into the GPU and build its launcher, which
    Triton 3.6 does with a C compiler, a third of a second for each signature, at the first launch."""

    def __init__(self, no_collection: _NoCollection, *, load: bool) -> None:
        super().__init__(min(_MAX_THREADS, os.cpu_count() or 1))
        self._no_collection = no_collection
        self._load = load

    def submit(self, compile_kernel: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        def compile_and_release() -> Any:
            try:
                return self._compile(compile_kernel, *args, **kwargs)
            finally:
                self._no_collection.release()

        self._no_collection.hold()
        return super().submit(compile_and_release)

    def _compile(self, compile_kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kernel = compile_kernel(*args, **kwargs)
        if self._load:
            with suppress(Exception):  # the launch meets it again and tells it
                kernel._init_handles()
        return kernel


class CompilePass:
    """Calls made within ``compiling()`` compile only; ``finish()`` waits for all of it."""

    def __init__(self, *, load: bool = False) -> None:
        self._no_collection = _NoCollection()
        self._executor = _Compilers(self._no_collection, load=load)
        self._mode = AsyncCompileMode(self._executor)
        self._autotuners: set[Any] = set()

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Within, launches compile only, and ``autotune`` compiles every configuration and times none."""
        original_run, original_bench = JITFunction.run, Autotuner._bench

        def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            return original_run(kernel, *args, **(kwargs | {"warmup": True}))

        def bench(autotuner: Any, *args: Any, config: Any, **meta: Any) -> list[float]:
            self._autotuners.add(autotuner)
            autotuner.fn.run(*args, **(meta | config.all_kwargs()))
            return [1.0, 1.0, 1.0]

        self._no_collection.hold()
        JITFunction.run, Autotuner._bench = run, bench
        active_mode.set(self._mode)
        try:
            yield
        finally:
            active_mode.set(None)
            JITFunction.run, Autotuner._bench = original_run, original_bench
            self._no_collection.release()

    def finish(self) -> None:
        """Wait for every compile; what the compiler raised is raised here. What ``autotune`` chose is forgotten."""
        mode, self._mode = self._mode, AsyncCompileMode(self._executor)
        for autotuner in self._autotuners:
            autotuner.cache.clear()
        self._autotuners.clear()
        try:
            mode.__exit__(None, None, None)
        finally:
            active_mode.set(None)
