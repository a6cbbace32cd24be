"""Gluon's kernels in Triton's interpreter, which knows no Gluon: enough of its language for those of the ladder.

Layouts say which thread has what, and mean nothing here. Copies to shared memory are as late as they may be: they
happen when they are waited for, and what is read before has never been written. So a kernel that waits for too few of
them, or asks for a slot that is still needed, gives NaN.
"""

from __future__ import annotations

import threading
from types import FunctionType, ModuleType
from typing import Any

import triton.language as tl
from triton.experimental.gluon._runtime import GluonJITFunction
from triton.runtime.interpreter import InterpretedFunction


class Slot:
    """A part of shared memory that takes one tile."""

    def __init__(self, dtype: Any, shape: list[int]) -> None:
        self._dtype, self._shape = dtype, shape
        self._tile: Any = None

    def store(self, tile: Any) -> None:
        self._tile = tile

    def load(self, _layout: None) -> Any:
        if self._tile is None:
            return tl.full(self._shape, float("nan"), self._dtype)
        return self._tile

    def forget(self) -> None:
        """What comes next is on its way: nobody may count on what was there."""
        self._tile = None


class Ring:
    def __init__(self, dtype: Any, shape: list[int], _layout: None) -> None:
        slots, *tile = map(int, shape)
        self._slots = [Slot(dtype, tile) for _ in range(slots)]

    def index(self, slot: Any) -> Slot:
        return self._slots[int(slot)]


class Copies(threading.local):
    """A program's asynchronous copies, in the groups that they are waited for in. Every thread runs another program."""

    def __init__(self) -> None:
        self._asked: list[tuple[Slot, Any, Any]] = []
        self._groups: list[list[tuple[Slot, Any, Any]]] = []

    def copy_to_shared(self, slot: Slot, at: Any, mask: Any) -> None:
        slot.forget()
        self._asked.append((slot, at, mask))

    def commit_group(self) -> None:
        self._groups.append(self._asked)
        self._asked = []

    def wait_group(self, outstanding: Any) -> None:
        while len(self._groups) > int(outstanding):
            for slot, at, mask in self._groups.pop(0):
                slot.store(tl.load(at, mask=mask, other=float("nan")))


class Language(ModuleType):
    """``gl``: what Triton's own language has, layouts left out."""

    constexpr = tl.constexpr
    allocate_shared_memory = Ring

    def arange(self, start: int, end: int, _layout: None) -> Any:
        return tl.arange(start, end)

    def full(self, shape: list[int], value: float, dtype: Any, _layout: None) -> Any:
        return tl.full(shape, value, dtype)

    def __getattr__(self, name: str) -> Any:
        return (lambda *_: None) if name.endswith("Layout") else getattr(tl, name)


class Interpreted(InterpretedFunction):
    """What is annotated as ``gl.constexpr`` is told as the interpreter expects it."""

    def rewrite(self) -> Any:
        function = super().rewrite()
        told = {name: "constexpr" for name, kind in function.__annotations__.items() if kind == "gl.constexpr"}
        function.__annotations__.update(told)
        return function


def interpreted(kernel: GluonJITFunction) -> Interpreted:
    """The kernel, to be called as in Triton's interpreter."""
    copies = Copies()
    scope = dict(kernel.fn.__globals__)
    scope |= {"tl": tl, "gl": Language("gl"), "async_copy": copies, "copy_to_shared": copies.copy_to_shared}
    for name, value in scope.items():
        if isinstance(value, GluonJITFunction):
            scope[name] = Interpreted(_with_globals(value.fn, scope))
    return Interpreted(_with_globals(kernel.fn, scope))


def _with_globals(function: FunctionType, scope: dict[str, Any]) -> FunctionType:
    return FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
