"""What the softmax benches measure: matrices, and microseconds a call on this process's GPU with a cold L2 cache."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import torch

MATRIX_BYTES = 1 << 30
"""Of a matrix that is measured by itself: what a call leaves in the L2 cache is no help to the next."""

ROTATED_BYTES = 256 << 20
"""At least so much input and output goes by before a small matrix comes round again: five times the L2 cache."""

FEWEST_PAIRS, MOST_PAIRS = 4, 512
"""Of one graph."""

CALLS = 3
"""Calls between two events where a matrix is measured by itself."""

AHEAD_CYCLES = 2_000_000
"""The GPU is kept busy for about a millisecond while a round is queued, so that it never waits for the host."""

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
LENGTHS = (
    *(256, 512, 781, 1000, 1024, 1025, 2048, 4096, 8192, 8320, 12672, 16384, 32768),
    *(50257, 65536, 65537, 131072, 151936, 262144),
)
FEW_ROWS = (1, 8, 64)
LONG = (131072, 500_000, 1 << 20)

Softmax = Callable[[torch.Tensor, torch.Tensor], object]
"""Takes x and out; writes out, or returns what it made instead."""


@dataclass(frozen=True)
class Point:
    """A matrix to measure; ``replayed``: in a CUDA graph of many calls, each with its own x and out."""

    dtype: str
    columns: int
    rows: int
    replayed: bool

    @property
    def itemsize(self) -> int:
        return DTYPES[self.dtype].itemsize

    @property
    def moved(self) -> int:
        """Bytes of x and out: 2·M·N·e."""
        return 2 * self.rows * self.columns * self.itemsize

    def tb_s(self, us: float) -> float:
        return self.moved / us / 1e6

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Point:
        return cls(**json.loads(text))

    def pairs(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """x of N(0, 1) and out, as often as it takes to have the cache cold."""
        count = max(FEWEST_PAIRS, min(MOST_PAIRS, ROTATED_BYTES // self.moved)) if self.replayed else 1
        made = []
        for _ in range(count):
            x = torch.randn(self.rows, self.columns, device="cuda", dtype=DTYPES[self.dtype])
            made.append((x, torch.empty_like(x)))
        return made


def points(dtypes: Iterable[str], lengths: Iterable[int], few_rows: Iterable[int], long: Iterable[int]) -> list[Point]:
    """Matrices of about 1 GiB by dtype and N, then those of few rows."""
    dtypes, few_rows, long = list(dtypes), list(few_rows), list(long)
    large = [
        Point(dtype, columns, max(16, MATRIX_BYTES // (columns * DTYPES[dtype].itemsize) // 16 * 16), replayed=False)
        for columns in lengths
        for dtype in dtypes
    ]
    return large + [Point(dtype, n, rows, replayed=True) for rows in few_rows for n in long for dtype in dtypes]


def fault(softmax: Softmax, x: torch.Tensor, out: torch.Tensor) -> str | None:
    """Call it, and say what is wrong with the first rows and the last."""
    out.fill_(torch.nan)
    returned = softmax(x, out)
    y = returned if isinstance(returned, torch.Tensor) else out
    rows = [0, len(x) // 2, len(x) - 1]
    relative = 1e-4 if x.dtype is torch.float32 else 2e-2
    right = torch.allclose(y[rows].double(), torch.softmax(x[rows].double(), 1), rtol=relative, atol=1e-12)
    return None if right else "wrong"


def timed(softmax: Softmax, pairs: list[tuple[torch.Tensor, torch.Tensor]], replayed: bool) -> Callable[[], Any]:
    """What to put between two events: all pairs in a graph, or ``CALLS`` calls on the one pair."""
    if replayed:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = [softmax(x, out) for x, out in pairs]  # results are kept apart, as outputs are
        del kept
        return graph.replay

    def calls() -> None:
        for _ in range(CALLS):
            softmax(*pairs[0])

    return calls


def times_us(point: Point, runs: dict[str, Callable[[], Any]], pairs: int, rounds: int) -> dict[str, list[float]]:
    """Microseconds a call, by name: in every round each is measured once, so that they share what changes."""
    calls = pairs if point.replayed else CALLS
    for run in runs.values():
        run()
    events: dict[str, list[tuple[Any, Any]]] = {name: [] for name in runs}
    for _ in range(rounds):
        torch.cuda._sleep(AHEAD_CYCLES)
        for name, run in runs.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            run()
            end.record()
            events[name].append((start, end))
        torch.cuda.synchronize()
    return {name: [start.elapsed_time(end) * 1e3 / calls for start, end in found] for name, found in events.items()}


def in_a_word(error: BaseException) -> str:
    """The kind of an error, and the beginning of what it says."""
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0][:80]}" if said else type(error).__name__
