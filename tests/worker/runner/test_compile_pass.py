"""No collection while kernels are compiled: what CPython gets wrong then would read as the submission's mistake."""

from __future__ import annotations

import ast
import gc
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from triton.runtime._async_compile import active_mode

from worker.runner.compile_pass import CompilePass

SOURCE = "\n".join(f"def f{i}(x):\n    return (x + {i}) * (x - {i}) / [x, {i}, (x, x)][1]" for i in range(40))


@pytest.fixture
def talkative_collector() -> Iterator[None]:
    """Collects as often as it can, and runs Python code whenever it does, between which threads change often."""

    def collected(_phase: str, _info: dict[str, Any]) -> None:
        for _ in range(50):
            pass

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.callbacks.append(collected)
    gc.set_threshold(1)
    yield
    gc.set_threshold(*threshold)
    gc.callbacks.remove(collected)
    sys.setswitchinterval(interval)


def compile_in_a_thread(key: str, work: Callable[[], Any]) -> None:
    active_mode.get().submit(key, work, lambda _: None)


def test_threads_that_parse_side_by_side_do_not_spoil_each_other(talkative_collector: None) -> None:
    compile_pass = CompilePass()

    def parse() -> Any:
        for _ in range(20):
            ast.parse(SOURCE)
        return SimpleNamespace(result=None)

    with compile_pass.compiling():
        for number in range(4):
            compile_in_a_thread(str(number), parse)
        parse()
    compile_pass.finish()


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_rests_until_the_last_compile_and_is_then_what_it_was(enabled: bool) -> None:
    compile_pass, go_on = CompilePass(), threading.Event()
    if not enabled:
        gc.disable()
    try:
        with compile_pass.compiling():
            compile_in_a_thread("one", lambda: go_on.wait(10))
        assert not gc.isenabled()
        go_on.set()
        compile_pass.finish()
        assert gc.isenabled() is enabled
    finally:
        gc.enable()


def test_the_collector_works_again_after_host_code_that_raises() -> None:
    compile_pass = CompilePass()
    with pytest.raises(ValueError, match="of the host"), compile_pass.compiling():
        raise ValueError("of the host")
    assert gc.isenabled()
