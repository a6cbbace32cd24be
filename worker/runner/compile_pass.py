"""Compiles what calls launch, without launching it: host code runs for real, kernels go to compiler threads.

Triton itself derives the specialisations from the arguments of each call, so what is compiled is what a GPU runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from triton.runtime._async_compile import AsyncCompileMode, active_mode
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

_MAX_THREADS = 8


class _Compilers(ThreadPoolExecutor):
    """Compiler threads; with ``load`` they also load what they compiled into the GPU and build its launcher, which
    Triton 3.6 does with a C compiler, a third of a second for each signature, at the first launch."""

    def __init__(self, *, load: bool) -> None:
        super().__init__(min(_MAX_THREADS, os.cpu_count() or 1))
        self._load = load

    def submit(self, compile_kernel: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        def compile_and_load() -> Any:
            kernel = compile_kernel(*args, **kwargs)
            with suppress(Exception):  # the launch meets it again and tells it
                kernel._init_handles()
            return kernel

        return super().submit(compile_and_load) if self._load else super().submit(compile_kernel, *args, **kwargs)


class CompilePass:
    """Calls made within ``compiling()`` compile only; ``finish()`` waits for all of it."""

    def __init__(self, *, load: bool = False) -> None:
        self._executor = _Compilers(load=load)
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

        JITFunction.run, Autotuner._bench = run, bench
        active_mode.set(self._mode)
        try:
            yield
        finally:
            active_mode.set(None)
            JITFunction.run, Autotuner._bench = original_run, original_bench

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
