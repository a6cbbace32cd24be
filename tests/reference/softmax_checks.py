"""What the matrix does not reach: far addresses, and the traffic of the kernels. Each returns a fault or None."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import torch
import triton
import triton.language as tl

from reference import traffic
from reference.softmax import RUNGS, meeting, ring
from reference.softmax.arithmetic import finite_base
from reference.softmax.meeting import count_turns, leave_partial, merge_partials, read_words, turns_before, words_of
from reference.softmax.split import pieces
from reference.traffic import Traffic
from tests.reference import counting
from tests.reference.side_by_side import programs_side_by_side
from tests.reference.softmax_matrix import FAMILIES, VARIANTS, difference, matrix_of

FAR = 2**30 + 16
"""Twice this passes 2^31, and in bytes of 16-bit numbers 2^32; itself it still fits 32 bits."""


def far_rows(variant: str, device: str) -> str | None:
    """Three rows so far apart that a 32-bit offset to the last one is negative: in x, then in out."""
    values = torch.randn(3, 33, generator=torch.Generator().manual_seed(3)).to(device, torch.float16)
    for strides in (((FAR, 1), (33, 1)), ((33, 1), (FAR, 1))):
        fault = _at_strides(variant, values, *strides)
        if fault:
            return f"strides {strides}: {fault}"
    return None


def far_columns(variant: str, device: str) -> str | None:
    """Three columns so far apart, in x, then in out."""
    values = torch.randn(2, 3, generator=torch.Generator().manual_seed(4)).to(device, torch.float16)
    for strides in (((1, FAR), (3, 1)), ((3, 1), (1, FAR))):
        fault = _at_strides(variant, values, *strides)
        if fault:
            return f"strides {strides}: {fault}"
    return None


def _at_strides(variant: str, values: torch.Tensor, *strides: tuple[int, int]) -> str | None:
    rows, columns = values.shape
    sizes = [(rows - 1) * row + (columns - 1) * column + 1 for row, column in strides]
    x, out = (
        torch.empty(size, dtype=values.dtype, device=values.device).as_strided((rows, columns), stride)
        for size, stride in zip(sizes, strides, strict=True)
    )
    x.copy_(values)
    VARIANTS[variant](x, out, empty_row="zero")
    return difference(out, x)


def in_place(variant: str, device: str) -> str | None:
    """``out`` is ``x`` itself."""
    values = torch.randn(3, 300, generator=torch.Generator().manual_seed(5)).to(device)
    x = values.clone()
    VARIANTS[variant](x, x, empty_row="zero")
    return difference(x, values)


@triton.jit
def _merge_of_slices(
    x_ptr, words_ptr, result_ptr, splits, compute: tl.constexpr, block: tl.constexpr, padded: tl.constexpr
):
    turn = turns_before(words_ptr) + 1
    word_ptr = words_of(words_ptr, turn, splits, compute, 2)
    for split in range(splits):
        x = tl.load(x_ptr + split * block + tl.arange(0, block))
        peak = tl.max(x, axis=0)
        leave_partial(word_ptr, split, splits, peak, tl.sum(tl.exp(x - finite_base(peak)), axis=0), turn)
    which, other = tl.arange(0, compute.primitive_bitwidth // 16)[:, None], tl.arange(0, padded)[None, :]
    word = read_words(words_of(words_ptr, 0, splits, compute, 2), splits, which, other)  # none is there
    base, total = merge_partials(word, word_ptr, turn, splits, which, other, compute)
    tl.store(result_ptr, base)
    tl.store(result_ptr + 1, total)
    count_turns(words_ptr, 0, turn)


def merged_partials(dtype: torch.dtype, device: str) -> str | None:
    """What programs that share a row make of one another's results, in one launch after the other."""
    splits, block = 5, 16
    x = torch.randn(splits * block, generator=torch.Generator().manual_seed(8), dtype=dtype).to(device) * 9
    masked = x.clone()
    masked[: 3 * block] = -torch.inf
    words = torch.zeros(meeting.group_words(splits, dtype.itemsize, 2), dtype=torch.int64, device=device)
    for row in (x, masked, torch.full_like(x, -torch.inf), x + 30_000):
        found = torch.empty(2, dtype=dtype, device=device)
        compute = tl.float32 if dtype is torch.float32 else tl.float64
        _merge_of_slices[(1,)](row, words, found, splits, compute=compute, block=block, padded=8)
        base = row.max().nan_to_num(neginf=0.0)
        expected = torch.stack([base, (row.double() - base).exp().sum().to(dtype)])
        if not torch.allclose(found, expected, rtol=4 * torch.finfo(dtype).eps, atol=0):
            return f"m, l = {found.tolist()}, expected {expected.tolist()}"
    return None


def small_ring(columns: int, seed: int, **options: int) -> str | None:
    """A ring of five slots, or one more than a row needs, that goes round several times; who goes on says ``seed``.

    Twice, with the words that the first launch leaves behind.
    """
    x = matrix_of([*FAMILIES], 0, columns, torch.float32, "cpu")
    handed_out: dict[int, torch.Tensor] = {}

    def words(device: torch.device, groups: int, each: int) -> torch.Tensor:
        return handed_out.setdefault(groups * each, meeting.words(device, groups, each))

    for _ in range(2):
        out = torch.full_like(x, torch.nan)
        small = patch.object(ring.tuning, "ring_bytes", lambda *_: 5 << 10)
        with small, patch.object(ring, "words", words), programs_side_by_side(seed):
            ring.softmax(x, out, warps=1, **options)
        found = difference(out, x, families=[*FAMILIES])
        if found:
            return found
    return None


def _split_traffic(rows: int, columns: int) -> Traffic:
    return traffic.split(rows, columns, splits=pieces(columns, 3, 16)[0])


TRAFFIC: dict[str, tuple[Callable[..., object], Callable[[int, int], Traffic]]] = {
    **{name: (RUNGS[name].softmax, RUNGS[name].traffic) for name in RUNGS if name not in ("naive", "online", "split")},
    "online": (partial(RUNGS["online"].softmax, block=16), RUNGS["online"].traffic),
    "split": (partial(RUNGS["split"].softmax, splits=3, block=16), _split_traffic),
}
"""The rungs made of kernels, and what they should move."""


def traffic_of(rung: str) -> str | None:
    """The kernels' loads and stores, counted in the interpreter, are those of the formula."""
    softmax, formula = TRAFFIC[rung]
    for rows, columns in ((1, 1), (5, 7), (3, 100), (5, 101)):
        x = torch.randn(rows, columns, generator=torch.Generator().manual_seed(6))
        counted, expected = counting.of_kernels(softmax, x, torch.empty_like(x)), formula(rows, columns)
        if counted != expected:
            return f"{rows}×{columns}: counted {counted}, expected {expected}"
    return None


CHECKS: dict[str, Callable[[], str | None]] = {
    **{f"far_rows-{variant}": partial(far_rows, variant, "cpu") for variant in RUNGS},
    **{f"far_columns-{variant}": partial(far_columns, variant, "cpu") for variant in RUNGS},
    **{f"in_place-{variant}": partial(in_place, variant, "cpu") for variant in VARIANTS},
    "merged_partials-float32": partial(merged_partials, torch.float32, "cpu"),
    "merged_partials-float64": partial(merged_partials, torch.float64, "cpu"),
    "small_ring": partial(small_ring, 1001, seed=0, programs=2),
    "small_ring-shared_by_2": partial(small_ring, 1000, seed=1, programs=6, slice_bytes=2000),
    "small_ring-shared_by_3": partial(small_ring, 1001, seed=2, programs=6, slice_bytes=1500),
    "small_ring-written_later": partial(small_ring, 1001, seed=3, programs=8, slice_bytes=1024, later=3),
    **{f"traffic-{rung}": partial(traffic_of, rung) for rung in TRAFFIC},
}
"""Those that the interpreter runs."""
