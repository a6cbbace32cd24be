"""Microseconds a call of the kernel in T2's reference file, by the device's own events, as JSON: at the drill's timed
shapes, or with ``--short`` at those of ``short_shapes.py``.

Many calls on inputs and outputs of their own, in one CUDA graph: no process, no clock and no launch of the judge's.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import short_shapes  # noqa: E402

from graders.t2_softmax import performance  # noqa: E402
from graders.timed import TimedShape  # noqa: E402
from reference.t2_softmax import softmax  # noqa: E402

CALLS, REPLAYS = 20, 30


def call_us(shape: TimedShape) -> float:
    """Median over replays of a graph of ``CALLS`` calls, each with its own tensors."""
    pairs = []
    for _ in range(CALLS):
        (x,), (out,) = shape.operands(shape.rows)
        views = [
            place.layout.view(torch.zeros(place.layout.numel, dtype=place.dtype, device="cuda")) for place in (x, out)
        ]
        views[0].normal_()
        pairs.append(views)
    for x_view, out_view in pairs:
        softmax(x_view, out_view)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for x_view, out_view in pairs:
            softmax(x_view, out_view)
    times = []
    for _ in range(REPLAYS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(float(start.elapsed_time(end)) * 1e3 / CALLS)
    return statistics.median(times[3:])


if __name__ == "__main__":
    shapes = short_shapes.SHAPES if "--short" in sys.argv else performance.SHAPES
    print(json.dumps({shape.name: call_us(shape) for shape in shapes}))
