"""Programs that wait for one another, in Triton's interpreter, which would run one after the other and wait for ever.

All programs of a launch run at once, each in a thread, one thread at a time. Who goes on is drawn at every load, store
and atomic operation: mostly who went before, so that some get far ahead of others.
"""

from __future__ import annotations

import inspect
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import triton.language as tl  # noqa: F401  # the interpreter looks for it beside the function that it runs
from triton.runtime import interpreter
from triton.runtime.interpreter import GridExecutor, InterpreterBuilder

STAY = 0.8
"""How likely a program goes on after an operation."""

MOST_OPERATIONS = 200_000
"""After so many in a launch its programs wait for what will never be."""

SWITCHES = ("create_masked_load", "create_masked_store", "create_atomic_rmw")


class Launch:
    """The programs of a launch, gathered one by one and run when the last has come."""

    def __init__(self, kernel: Callable[..., None], drawn: random.Random) -> None:
        self._kernel, self._drawn = kernel, drawn
        self._grid: list[tuple[int, int, int]] = []
        self._turns: list[threading.Semaphore] = []
        self._running: set[int] = set()
        self._operations = 0
        self._failed: BaseException | None = None
        self._numerical_warnings = np.geterr()
        self._own = threading.local()

    def gather(self, **arguments: Any) -> None:
        builder = interpreter.interpreter_builder
        self._grid.append(builder.grid_idx)
        self._turns.append(threading.Semaphore(0))
        if len(self._grid) == builder.grid_dim[0]:
            self._run(arguments)

    def switch(self) -> None:
        """Called by a program, which may have to wait then."""
        self._operations += 1
        if self._operations > MOST_OPERATIONS:
            raise TimeoutError("the programs wait for ever")
        if self._drawn.random() > STAY:
            self._hand_on()
            self._wait_for_turn()

    def _run(self, arguments: dict[str, Any]) -> None:
        self._running = set(range(len(self._grid)))
        threads = [threading.Thread(target=self._program, args=(number, arguments)) for number in self._running]
        for thread in threads:
            thread.start()
        self._hand_on()
        for thread in threads:
            thread.join()
        if self._failed is not None:
            raise self._failed

    def _program(self, number: int, arguments: dict[str, Any]) -> None:
        self._own.number = number
        try:
            self._wait_for_turn()
            with np.errstate(**self._numerical_warnings):  # every thread has its own
                self._kernel(**arguments)
        except BaseException as error:
            self._failed = self._failed or error
        finally:
            self._running.discard(number)
            self._hand_on()

    def _hand_on(self) -> None:
        if self._running:
            self._turns[self._drawn.choice(sorted(self._running))].release()

    def _wait_for_turn(self) -> None:
        self._turns[self._own.number].acquire()
        if self._failed is not None:
            raise RuntimeError("another program has failed")
        interpreter.interpreter_builder.set_grid_idx(*self._grid[self._own.number])


@contextmanager
def programs_side_by_side(seed: int) -> Iterator[None]:
    """Kernels that are launched meanwhile run so, in an order that ``seed`` says."""
    drawn = random.Random(seed)
    begin, operations = GridExecutor.__init__, {name: getattr(InterpreterBuilder, name) for name in SWITCHES}
    running: list[Launch] = []

    def begin_launch(executor: GridExecutor, kernel: Any, *others: Any) -> None:
        begin(executor, kernel, *others)
        launch = Launch(kernel, drawn)
        running[:] = [launch]

        def gather(**arguments: Any) -> None:
            launch.gather(**arguments)

        gather.__signature__ = inspect.signature(kernel)  # type: ignore[attr-defined]
        executor.fn = gather

    def switching(operation: Callable[..., Any]) -> Callable[..., Any]:
        def switch_and_do(*arguments: Any) -> Any:
            running[-1].switch()
            return operation(*arguments)

        return switch_and_do

    GridExecutor.__init__ = begin_launch
    for name, operation in operations.items():
        setattr(InterpreterBuilder, name, switching(operation))
    try:
        yield
    finally:
        GridExecutor.__init__ = begin
        for name, operation in operations.items():
            setattr(InterpreterBuilder, name, operation)
