"""The runner's side of timed rounds: make the calls it is told to, leave the device at rest, say so."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch

from worker.protocol.doorbell import Doorbell
from worker.runner.memory import Mapping
from worker.runner.session import Execute, bound_call, function_of


class TimedCalls:
    """The bound calls of a shape's slots, eager or captured in graphs."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], Any]] = []
        self._graphs: list[torch.cuda.CUDAGraph] = []

    def prepare(self, entry: Callable[..., Any], message: dict[str, Any], arena: Mapping) -> dict[str, Any]:
        """``slots``: a call for each, made once, so that nothing is compiled or tuned while timed.

        ``function`` names another function of the entry point's module to be called instead of it.
        """
        self._graphs = []
        self._calls = [bound_call(function_of(entry, message), slot, arena) for slot in message["slots"]]
        for call in self._calls:
            call()
        torch.cuda.synchronize()
        gc.collect()
        gc.freeze()
        return {"type": "went"}

    def capture(self, _entry: Callable[..., Any], message: dict[str, Any], _arena: Mapping) -> dict[str, Any]:
        """``groups``: a graph for each list of slots. Host code that synchronises, say, cannot be captured."""
        self._graphs = []
        try:
            self._graphs = [self._captured(group) for group in message["groups"]]
        except Exception:
            torch.cuda.synchronize()  # a device that is at fault fails here again
            return {"type": "captured", "all": False}
        torch.cuda.synchronize()
        return {"type": "captured", "all": True}

    def _captured(self, group: list[int]) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for slot in group:
                self._calls[slot]()
        return graph

    def rounds(self, _entry: Callable[..., Any], message: dict[str, Any], _arena: Mapping) -> dict[str, Any]:
        """Make rounds whenever the doorbell rings, until it rings for no call."""
        doorbell = Doorbell(message["descriptors"][0])
        try:
            while True:
                order, graphs = doorbell.wait()
                if not order:
                    return {"type": "went"}
                self._round(order, graphs=graphs)
                doorbell.answer()
        finally:
            doorbell.close()

    def _round(self, order: list[int], *, graphs: bool) -> None:
        if graphs:
            for index in order:
                self._graphs[index].replay()
        else:
            for index in order:
                self._calls[index]()
        torch.cuda.synchronize()

    def executors(self) -> dict[str, Execute]:
        return {"prepare": self.prepare, "capture": self.capture, "rounds": self.rounds}
