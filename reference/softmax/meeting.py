"""Where programs of one launch meet: each leaves its maximum and sum in memory, and waits until all have.

They are left in words of 64 bits, each of them 32 bits of a number and the turn that it is of. So a word says by itself
that it has come: nobody counts arrivals, and no fence orders one word behind another. A fence would also wait until
all that the program has written before, its part of the last row, has arrived in memory.

Turns are counted on from launch to launch, so that no launch has to clear anything, and a CUDA graph can be replayed.
Words serve one launch at a time: every stream has its own, and so has every launch that is captured, as nobody knows on
which stream a graph will be replayed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from reference.softmax.arithmetic import finite_base

LINE_WORDS = 16
"""Words of 128 bytes: programs that wait for different rows do not wait for the same line of a cache."""

_LINE_WORDS = tl.constexpr(LINE_WORDS)

MOST_GROUPS = 2048
"""Groups of a launch."""

RESERVED = 1 << 20
"""Words, all 0, that are kept for captured launches: some hundreds of them."""

_of_stream: dict[tuple[torch.device, int, int], torch.Tensor] = {}
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


def plan(rows: int, columns: int, longest: int, resident: int, least: int, unit: int = 16) -> Plan:
    """The plan for ``resident`` programs that take about ``longest`` elements, all alike and a multiple of ``unit``.

    If ``longest`` is such a multiple none takes more. Programs that would be left over share the rows as well, down to
    about ``least`` elements each. Raises ValueError if the programs do not take a whole row.
    """
    length = _slice_length(columns, triton.cdiv(columns, longest), unit)
    splits = triton.cdiv(columns, length)
    if splits > resident:
        raise ValueError(f"rows of {columns} elements take {splits} programs, but {resident} are resident at once")
    groups = min(rows, resident // splits, MOST_GROUPS)
    length = _slice_length(columns, max(splits, min(resident // groups, columns // least)), unit)
    return Plan(groups, triton.cdiv(columns, length), length)


def _slice_length(columns: int, splits: int, unit: int) -> int:
    units: int = triton.cdiv(triton.cdiv(columns, splits), unit)
    return units * unit


def group_words(splits: int, itemsize: int, kept: int) -> int:
    """Words of a group of ``splits`` programs that compute in ``itemsize`` bytes and keep the results of ``kept``
    turns.

    First how many turns there have been, in a line of its own; then for every turn kept the ``words_of`` its programs.
    """
    lines: int = 1 + triton.cdiv(kept * splits * (itemsize // 2), LINE_WORDS)
    return lines * LINE_WORDS


def words(device: torch.device, groups: int, each: int) -> torch.Tensor:
    """``each`` words for so many groups of programs, for a launch on the current stream of ``device``."""
    wanted = groups * each
    if device.type != "cuda":
        return torch.zeros(wanted, dtype=torch.int64, device=device)
    if torch.cuda.is_current_stream_capturing():
        return _reserved(device, wanted)
    stream = device, torch.cuda.current_stream(device).cuda_stream, each
    if stream not in _of_stream or len(_of_stream[stream]) < wanted:
        _of_stream[stream] = torch.zeros(wanted, dtype=torch.int64, device=device)
    if device not in _reserve:
        _reserve[device] = torch.zeros(RESERVED, dtype=torch.int64, device=device)
        torch.cuda.synchronize(device)  # a graph may be replayed on a stream that knows nothing of this one
    return _of_stream[stream]


def _reserved(device: torch.device, wanted: int) -> torch.Tensor:
    """Words that a graph keeps for good; once the reserve is used up, ones that every replay clears."""
    reserve = _reserve.get(device)
    if reserve is None or len(reserve) < wanted:
        return torch.zeros(wanted, dtype=torch.int64, device=device)
    _reserve[device] = reserve[wanted:]  # shares the memory, so what is handed out is never freed
    return reserve[:wanted]


@triton.jit
def turns_before(words_ptr):
    """How many turns a group has had in earlier launches."""
    return tl.load(words_ptr, volatile=True).to(tl.int32)


@triton.jit
def count_turns(words_ptr, split, turns):
    """Say how many the group has had now. It has met in the last one, so that all its programs know the old number."""
    tl.store(words_ptr, tl.cast(turns, tl.int64), mask=split == 0)


@triton.jit
def words_of(words_ptr, turn, splits, COMPUTE: tl.constexpr, KEPT: tl.constexpr):
    """Where a turn's results are: the maxima of all programs, then the sums; of float64 the low halves first."""
    return words_ptr + _LINE_WORDS + turn % KEPT * splits * (COMPUTE.primitive_bitwidth // 16)


@triton.jit
def _leave(word_ptr, number, turn, splits):
    """Leave a number of one's own for the others; ``word_ptr`` is one's own place among the first of the words."""
    if number.dtype == tl.float32:
        _leave_word(word_ptr, number.to(tl.uint32, bitcast=True).to(tl.int64), turn)
    else:
        bits = number.to(tl.int64, bitcast=True)
        _leave_word(word_ptr, bits & 0xFFFFFFFF, turn)
        _leave_word(word_ptr + splits, (bits >> 32) & 0xFFFFFFFF, turn)


@triton.jit
def _leave_word(word_ptr, bits, turn):
    tl.store(word_ptr, (tl.cast(turn, tl.int64) << 32) | bits)


@triton.jit
def leave_partial(word_ptr, split, splits, peak, total, turn):
    """Tell the others the maximum and the sum of one's own slice, in turn ``turn`` > 0."""
    halves: tl.constexpr = peak.dtype.primitive_bitwidth // 32
    _leave(word_ptr + split, peak, turn, splits)
    _leave(word_ptr + split + halves * splits, total, turn, splits)


@triton.jit
def read_words(word_ptr, splits, which, other):
    """What is there of all programs' results. ``which`` [W, 1] counts a program's words, ``other`` [1, S or more] the
    programs."""
    inside = (other < splits) & (which >= 0)
    return tl.load(word_ptr + which * splits + other, mask=inside, other=0, volatile=True)


@triton.jit
def merge_partials(word, word_ptr, turn, splits, which, other, COMPUTE: tl.constexpr):
    """Wait for all programs' results of the turn: what to subtract in the whole row's exponents, and the row's sum.

    ``word`` is what ``read_words`` has found of them already.
    """
    inside = (other < splits) & (which >= 0)
    while _late(word, turn, inside):
        word = read_words(word_ptr, splits, which, other)
    half: tl.constexpr = COMPUTE.primitive_bitwidth // 32
    peaks = _number(word, which, 0, COMPUTE)
    totals = _number(word, which, half, COMPUTE)
    there = tl.max(inside.to(tl.int32), axis=0) > 0
    return _merged(tl.where(there, peaks, -float("inf")), totals)


@triton.jit
def _late(word, turn, inside):
    """Whether a word is missing, 1 or 0."""
    missing = inside & ((word >> 32).to(tl.int32) != turn)
    return tl.max(tl.max(missing.to(tl.int32), axis=0), axis=0) > 0


@triton.jit
def _number(word, which, first: tl.constexpr, COMPUTE: tl.constexpr):
    """The numbers whose first word is the ``first`` of each program."""
    low = tl.sum(tl.where(which == first, word & 0xFFFFFFFF, 0), axis=0)
    if tl.float32 == COMPUTE:
        number = low.to(tl.uint32).to(tl.float32, bitcast=True)
    else:
        high = tl.sum(tl.where(which == first + 1, word << 32, 0), axis=0)
        number = (high | low).to(tl.float64, bitcast=True)
    return number


@triton.jit
def _merged(peaks, totals):
    """One base and one sum of those of several slices: m = max m_i, l = Σ l_i·exp(m_i - m)."""
    base = finite_base(tl.max(peaks, axis=0))
    return base, tl.sum(totals * tl.exp(peaks - base), axis=0)
