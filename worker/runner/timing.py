"""The runner's side of a timed round: make the calls it is told to, leave the device at rest, say so."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch

from worker.runner.memory import Mapping
from worker.runner.session import Execute, bound_call


class TimedCalls:
    """The bound calls of a shape's slots, eager or captured in graphs."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], Any]] = []
        self._graphs: list[torch.cuda.CUDAGraph] = []

    def prepare(self, entry: Callable[..., Any], message: dict[str, Any], arena: Mapping) -> dict[str, Any]:
        """``slots``: a call for each."""
        self._graphs = []
        self._calls = [bound_call(entry, slot, arena) for slot in message["slots"]]
        gc.collect()
        gc.freeze()
        return {"type": "went", "nonce": message["nonce"]}

    def capture(self, _entry: Callable[..., Any], message: dict[str, Any], _arena: Mapping) -> dict[str, Any]:
        """``groups``: a graph for each list of slots."""
        self._graphs = []
        for group in message["groups"]:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for slot in group:
                    self._calls[slot]()
            self._graphs.append(graph)
        torch.cuda.synchronize()
        return {"type": "went", "nonce": message["nonce"]}

    def go(self, _entry: Callable[..., Any], message: dict[str, Any], _arena: Mapping) -> dict[str, Any]:
        """``order``: the calls (with ``graphs``: the graphs) to make, one after the other."""
        if message["graphs"]:
            for index in message["order"]:
                self._graphs[index].replay()
        else:
            for index in message["order"]:
                self._calls[index]()
        torch.cuda.synchronize()
        return {"type": "went", "nonce": message["nonce"]}

    def executors(self) -> dict[str, Execute]:
        return {"prepare": self.prepare, "capture": self.capture, "go": self.go}
