"""Counts what a softmax really loads and stores, to hold the formulas of ``reference.traffic`` against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from reference.traffic import Traffic


class Counts:
    """Elements moved, by the storage they are in."""

    def __init__(self, x: torch.Tensor, out: torch.Tensor) -> None:
        self._places = {"x": _range_of(x), "out": _range_of(out)}
        self._moved: Counter[tuple[str, str]] = Counter()

    def add(self, what: str, address: int, elements: int) -> None:
        """So many elements were ``read`` or ``written`` at the address and behind it."""
        places = [name for name, addresses in self._places.items() if address in addresses]
        self._moved[what, places[0] if places else "scratch"] += elements

    def traffic(self) -> Traffic:
        """As a Traffic; an output that was read or an input that was written is no softmax."""
        if self._moved["read", "out"] or self._moved["written", "x"]:
            raise ValueError(f"no softmax moves this: {dict(self._moved)}")
        return Traffic(
            self._moved["read", "x"],
            self._moved["written", "out"],
            self._moved["read", "scratch"],
            self._moved["written", "scratch"],
        )


def _range_of(tensor: torch.Tensor) -> range:
    storage = tensor.untyped_storage()
    return range(storage.data_ptr(), storage.data_ptr() + storage.nbytes())


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Every operation of torch reads all of its tensors and writes all of its results."""

    def __init__(self, counts: Counts) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._counts = counts

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in args:
            if isinstance(tensor, torch.Tensor):
                self._counts.add("read", tensor.data_ptr(), tensor.numel())
        self._counts.add("written", result.data_ptr(), result.numel())
        return result


def of_torch(softmax: Callable[..., object], x: torch.Tensor, out: torch.Tensor) -> Traffic:
    """What the operations of a softmax written in torch move."""
    counts = Counts(x, out)
    with _Operations(counts):
        softmax(x, out, empty_row="nan")
    return counts.traffic()


def of_kernels(softmax: Callable[..., object], x: torch.Tensor, out: torch.Tensor) -> Traffic:
    """What the loads and stores of Triton kernels move, masked elements left out. In Triton's interpreter only."""
    counts = Counts(x, out)
    with _counted_memory_operations(counts):
        softmax(x, out)
    return counts.traffic()


@contextmanager
def _counted_memory_operations(counts: Counts) -> Iterator[None]:
    from triton.runtime.interpreter import InterpreterBuilder

    load, store = InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store

    def counted_load(builder: Any, pointers: Any, mask: Any, *others: Any) -> Any:
        _count(counts, "read", pointers, mask)
        return load(builder, pointers, mask, *others)

    def counted_store(builder: Any, pointers: Any, value: Any, mask: Any, *others: Any) -> Any:
        _count(counts, "written", pointers, mask)
        return store(builder, pointers, value, mask, *others)

    InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store = counted_load, counted_store
    try:
        yield
    finally:
        InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store = load, store


def _count(counts: Counts, what: str, pointers: Any, mask: Any) -> None:
    addresses = pointers.data[mask.data]
    if addresses.size:
        counts.add(what, int(addresses.flat[0]), addresses.size)
