"""Where programs of one launch meet: each leaves its maximum and sum in memory, and waits until all have.

The counters are 0 between launches, because the last program to leave puts its group's back. So no launch has to clear
them, and a CUDA graph can be replayed. Counters serve one launch at a time: every stream has its own, and so has every
launch that is captured, as nobody knows on which stream a graph will be replayed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from reference.softmax.arithmetic import finite_base

COUNTER_STRIDE = 32
"""Counters stand 128 bytes apart: programs that wait for different ones do not wait for the same line of a cache."""

MOST_GROUPS = 2048
"""Counters of a launch."""

RESERVED = 1 << 20
"""int32 numbers, all 0, that are kept for captured launches: some thousands of launches that share few rows."""

_of_stream: dict[tuple[torch.device, int], torch.Tensor] = {}
_reserve: dict[torch.device, torch.Tensor] = {}


@dataclass(frozen=True)
class Plan:
    """How rows are shared out: so many groups of ``splits`` programs, each of which takes ``length`` elements."""

    groups: int
    splits: int
    length: int

    @property
    def waiting_groups(self) -> int:
        """Groups whose programs wait for one another: none if each is one program."""
        return self.groups if self.splits > 1 else 0


def plan(rows: int, columns: int, longest: int, resident: int, unit: int = 16, least: int | None = None) -> Plan:
    """The plan for ``resident`` programs that take about ``longest`` elements, all alike and a multiple of ``unit``.

    If ``longest`` is such a multiple none takes more. With ``least``, programs that would be left over share the rows
    as well, down to about so many elements each. Raises ValueError if the programs do not take a whole row.
    """
    length = _slice_length(columns, triton.cdiv(columns, longest), unit)
    splits = triton.cdiv(columns, length)
    if splits > resident:
        raise ValueError(f"rows of {columns} elements take {splits} programs, but {resident} are resident at once")
    groups = min(rows, resident // splits, MOST_GROUPS)
    if least is not None:
        length = _slice_length(columns, max(splits, min(resident // groups, columns // least)), unit)
        splits = triton.cdiv(columns, length)
    return Plan(groups, splits, length)


def _slice_length(columns: int, splits: int, unit: int) -> int:
    units: int = triton.cdiv(triton.cdiv(columns, splits), unit)
    return units * unit


def partials(device: torch.device, shared: Plan, turns: int = 2) -> torch.Tensor:
    """Room for a maximum and a sum of every program, in so many turns."""
    return torch.empty(2 * turns * shared.groups * shared.splits, dtype=torch.float64, device=device)


def counters(device: torch.device, groups: int) -> torch.Tensor:
    """A counter for each of so many groups of programs, for a launch on the current stream of ``device``."""
    wanted = groups * COUNTER_STRIDE
    if device.type != "cuda":
        return torch.zeros(wanted, dtype=torch.int32, device=device)
    if torch.cuda.is_current_stream_capturing():
        return _reserved(device, wanted)
    stream = device, torch.cuda.current_stream(device).cuda_stream
    if stream not in _of_stream:
        _of_stream[stream] = torch.zeros(MOST_GROUPS * COUNTER_STRIDE, dtype=torch.int32, device=device)
    if device not in _reserve:
        _reserve[device] = torch.zeros(RESERVED, dtype=torch.int32, device=device)
        torch.cuda.synchronize(device)  # a graph may be replayed on a stream that knows nothing of this one
    return _of_stream[stream]


def _reserved(device: torch.device, wanted: int) -> torch.Tensor:
    """Counters that a graph keeps for good; once the reserve is used up, ones that every replay clears."""
    reserve = _reserve.get(device)
    if reserve is None or len(reserve) < wanted:
        return torch.zeros(wanted, dtype=torch.int32, device=device)
    _reserve[device] = reserve[wanted:]  # shares the memory, so what is handed out is never freed
    return reserve[:wanted]


@triton.jit
def leave_partial(partial_ptr, split, peak, total):
    """Tell the others the maximum and the sum of one's own slice."""
    tl.store(partial_ptr + 2 * split, peak.to(tl.float64))
    tl.store(partial_ptr + 2 * split + 1, total.to(tl.float64))


@triton.jit
def arrive(arrived_ptr, SEM: tl.constexpr = "acq_rel"):
    """Count oneself in, after what one has written; how many have been counted then.

    With SEM "release" the count says nothing of what they wrote, and nobody waits for it.
    """
    return tl.atomic_add(arrived_ptr, 1, sem=SEM) + 1


@triton.jit
def arrivals(arrived_ptr):
    """How many have been counted: what they wrote before can be read then."""
    return tl.atomic_add(arrived_ptr, 0, sem="acquire")


@triton.jit
def wait_for(arrived_ptr, arrived, expected):
    """Wait until ``expected`` have been counted, if ``arrived`` are fewer."""
    while arrived < expected:
        arrived = arrivals(arrived_ptr)


@triton.jit
def leave_for_good(arrived_ptr, expected, COUNTERS: tl.constexpr = 1, APART: tl.constexpr = 0):
    """Count oneself out; the last of ``expected`` puts the counter back to 0, and those that stand behind it."""
    if tl.atomic_add(arrived_ptr, 1, sem="acq_rel") + 1 == expected:
        for counter in tl.static_range(COUNTERS):
            tl.atomic_xchg(arrived_ptr + counter * APART, 0)


@triton.jit
def merge_partials(partial_ptr, splits, COMPUTE: tl.constexpr, SPLITS: tl.constexpr):
    """What to subtract in the whole row's exponents, and the row's sum."""
    other = tl.arange(0, SPLITS)
    inside = other < splits
    # Past the L1 cache, which may still have what an earlier row left here.
    peaks = tl.load(partial_ptr + 2 * other, mask=inside, other=-float("inf"), cache_modifier=".cg").to(COMPUTE)
    totals = tl.load(partial_ptr + 2 * other + 1, mask=inside, other=0.0, cache_modifier=".cg").to(COMPUTE)
    return merged(peaks, totals)


@triton.jit
def merged(peaks, totals):
    """One base and one sum of those of several slices: m = max m_i, l = Σ l_i·exp(m_i - m)."""
    base = finite_base(tl.max(peaks, axis=0))
    return base, tl.sum(totals * tl.exp(peaks - base), axis=0)
