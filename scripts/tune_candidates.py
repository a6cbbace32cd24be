"""What is worth a try for a matrix: rungs with their options, those that are likely to be fast first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch
from bench_points import Point
from triton import next_power_of_2

from reference.softmax import RUNGS
from reference.softmax.ring import MOST_SLOTS
from reference.softmax.tuning import Choice, ring_bytes

WARPS = (1, 2, 4, 8, 16, 32)
MULTIPROCESSORS = 132
CACHE_BYTES = 60 << 20
SHARED_BYTES = 200 << 10


def candidates(point: Point) -> list[Choice]:
    """Every choice once."""
    found: list[Choice] = []
    for makers in (_one_program, _tiles, _ring, _twice):
        for choice in makers(point):
            longest = RUNGS[choice.rung].longest_row
            if choice not in found and (longest is None or point.columns <= longest):
                found.append(choice)
    return found


def _fitting(elements: int, least: int = 8, most: int = 64) -> list[int]:
    """Numbers of warps that hold so many elements in 8 to 64 registers a thread."""
    return [warps for warps in WARPS if least <= -(-elements // (32 * warps)) <= most]


def _one_program(point: Point) -> Iterator[Choice]:
    columns, block = point.columns, next_power_of_2(point.columns)
    if point.replayed:
        return
    for warps, stream in product(_fitting(columns, most=80), (0, 1)):
        yield Choice("pieces", {"warps": warps, "stream": stream})
    if point.itemsize == 2 and columns >= 8192:
        for warps, programs in product(_fitting(columns, least=16, most=128), (1, 2, 3, 4, 6, 8)):
            if 16 <= warps * programs <= 32:
                yield Choice("pieces", {"warps": warps, "stream": 0, "short": 1, "programs": programs})
    for warps in _fitting(block):
        yield Choice("one_row", {"warps": warps})
    for warps, each, stages in product(_fitting(block, least=16), (1, 2, 4), (2, 3, 5)):
        ahead = (stages - 1) * block * point.itemsize
        if warps * each <= 32 and each * ahead <= SHARED_BYTES and (stages == 2 or ahead >= SHARED_BYTES // 8):
            options = {"warps": warps, "programs": MULTIPROCESSORS * each, "stages": stages}
            yield Choice("persistent", options)


def _tiles(point: Point) -> Iterator[Choice]:
    block = next_power_of_2(point.columns)
    if point.columns > 2048 or point.replayed:
        return
    ragged = point.columns * point.itemsize % 16 != 0
    for rows, warps in product((1, 2, 4, 8, 16, 32), (1, 2, 4, 8)):
        if warps in _fitting(rows * block):
            options = {"rows_per_program": rows, "warps": warps}
            yield Choice("aligned" if ragged else "several_rows", options)


def _twice(point: Point) -> Iterator[Choice]:
    if point.columns < 16384:
        return
    blocks = (1024, 2048, 4096, 8192) if point.replayed else (4096, 8192, 16384, 32768)
    for block in blocks:
        for warps in _fitting(block, most=32):
            if point.replayed:
                for each in (1, 2):
                    splits = max(1, MULTIPROCESSORS * each // point.rows)
                    yield Choice("split", {"block": block, "warps": warps, "splits": splits})
                continue
            for each in (1, 2, 3, 4):
                under_way = MULTIPROCESSORS * each * point.columns * point.itemsize
                if 16 <= warps * each <= 64 and under_way <= CACHE_BYTES:
                    yield Choice("online", {"block": block, "warps": warps, "programs": MULTIPROCESSORS * each})


def _ring(point: Point) -> Iterator[Choice]:
    """A row in a ring, or slices of it of which two fit and more is under way."""
    row_bytes = point.columns * point.itemsize
    if row_bytes < 8 << 10:
        return
    for programs, warps, depth in product((1, 2, 3, 4), (4, 8, 16), (1, 2, 4, 8)):
        chunk = 512 * warps * depth
        slots = min(ring_bytes(torch.device("meta"), programs) // chunk, MOST_SLOTS)
        options = {"programs": programs, "warps": warps, "depth": depth}
        if not 16 <= warps * programs <= 32 or slots < 3:
            continue
        if row_bytes <= slots * 7 // 8 * chunk and not point.replayed:
            yield Choice("ring", options | {"slice_bytes": row_bytes})
        resident = MULTIPROCESSORS * programs
        most = -(-point.rows * row_bytes // (resident * chunk)) if point.replayed else slots
        for chunks in sorted({min(most, slots // 2), min(most, slots * 2 // 5), min(most, slots * 2 // 7), 2, 1}):
            for later in (1, 2):
                fits = (1 + later) * chunks < slots <= 16 * chunks
                if fits and chunks * chunk < row_bytes <= chunks * chunk * resident:
                    yield Choice("ring", options | {"slice_bytes": chunks * chunk, "later": later})
