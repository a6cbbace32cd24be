"""Every choice of rung, block and warps in one place. Correctness depends on none of it.

``TABLES`` is what ``scripts/tune_reference.py`` is for; the functions below it fill in what a call leaves open. The
numbers hold about 16 to 64 float32 a thread, so that a row fits the registers without spilling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

TILE = 4096
"""Elements of a program that takes several rows."""

LOOP_BLOCK = 8192
"""Elements a step on rows that do not fit."""

LARGEST_AHEAD_BYTES = 1 << 17
"""Most that a persistent program loads ahead: it has to fit the shared memory of a multiprocessor."""

THREADS = 2048
"""Threads that a multiprocessor holds."""

MOST_PROGRAMS = 32
"""Programs that it holds."""

PROGRAM_BYTES = 4096
"""Shared memory of a program beside its ring: what the driver keeps (1 KiB), and what threads reduce in."""

REGISTERS = 65536
"""Registers that it has, and a thread no more than 255 of them."""


@dataclass(frozen=True)
class Choice:
    """A rung, and what to call it with."""

    rung: str
    options: Mapping[str, int] = field(default_factory=dict)


Table = tuple[tuple[int, Choice], ...]
"""The longest row that a choice is for, and the choice; in rising order."""

TABLES: dict[int, Table] = {
    2: (
        (256, Choice("several_rows", {"rows_per_program": 4, "warps": 1})),
        (512, Choice("several_rows", {"rows_per_program": 2, "warps": 2})),
        (1088, Choice("pieces", {"warps": 1})),
        (2048, Choice("pieces", {"warps": 4})),
        (4096, Choice("one_row", {"warps": 8})),
        (8192, Choice("pieces", {"warps": 16})),
        (16384, Choice("pieces", {"warps": 8})),
        (32768, Choice("pieces", {"warps": 16, "short": 1, "programs": 2})),
        (65536, Choice("pieces", {"warps": 32, "short": 1, "programs": 1})),
        (81920, Choice("ring", {"programs": 1, "warps": 16, "depth": 2, "slice_bytes": 163840, "later": 1})),
    ),
    4: (
        (256, Choice("several_rows", {"rows_per_program": 2, "warps": 2})),
        (512, Choice("pieces", {"warps": 2})),
        (1024, Choice("one_row", {"warps": 4})),
        (2048, Choice("pieces", {"warps": 1})),
        (4096, Choice("pieces", {"warps": 16})),
        (8192, Choice("one_row", {"warps": 32})),
        (8448, Choice("pieces", {"warps": 16})),
        (16384, Choice("pieces", {"warps": 32})),
        (32768, Choice("one_row", {"warps": 32})),
        (51200, Choice("pieces", {"warps": 32, "stream": 1})),
    ),
    8: (
        (1024, Choice("several_rows")),
        (16384, Choice("one_row")),
    ),
}
"""By bytes of an element, for rows that one program holds."""

LONGEST_ALONE = 32768
"""The longest row of which a multiprocessor has one, however few rows there are."""

SMALL = Choice("split", {"block": 2048, "warps": 4})
"""For long rows so few that two kernels are faster than programs that wait for one another."""

LARGEST_SMALL_BYTES = 2 << 20
"""Of a matrix for ``SMALL``."""

FEW = Choice("ring", {"programs": 2, "warps": 8, "depth": 4, "slice_bytes": 32768, "later": 1})
"""For rows that programs share in few turns, or so long that smaller slices would be shared by too many."""

MANY = Choice("ring", {"programs": 4, "warps": 4, "depth": 2, "slice_bytes": 12288, "later": 2})
"""For rows that programs share in many turns."""

LEAST_MANY_BYTES = 64 << 20
"""Of a matrix for ``MANY``."""

LONGEST_MANY_BYTES = 1536 << 10
"""Of its rows: each of their programs reads what all of them leave."""

LONGEST_SHARED = 1 << 20
"""The longest row that programs share and keep."""


def choice(device: torch.device, rows: int, columns: int, itemsize: int) -> Choice:
    """What takes a matrix of M×N elements of ``itemsize`` bytes."""
    row_bytes, enough = columns * itemsize, rows >= multiprocessors(device)
    for longest, chosen in TABLES[itemsize]:
        fits = columns <= longest and (chosen.rung != "ring" or holds(device, row_bytes, chosen))
        if fits and (columns <= LONGEST_ALONE or enough):
            return chosen
    if rows * row_bytes <= LARGEST_SMALL_BYTES and not enough:
        return SMALL
    many = rows * row_bytes >= LEAST_MANY_BYTES and row_bytes <= LONGEST_MANY_BYTES
    shared = MANY if many else FEW
    if columns <= LONGEST_SHARED and holds(device, row_bytes, shared):
        return shared
    return Choice("online" if enough else "split")


def holds(device: torch.device, row_bytes: int, chosen: Choice) -> bool:
    """Whether the GPU has asynchronous copies, the shared memory of such rings, and at once all programs of a row."""
    options = chosen.options
    chunk = chunk_bytes(options["depth"], options["warps"])
    slots = ring_bytes(device, options["programs"]) // chunk
    chunks = -(-min(row_bytes, options["slice_bytes"]) // chunk)
    kept = chunks if row_bytes <= options["slice_bytes"] else (1 + options["later"]) * chunks
    programs = multiprocessors(device) * options["programs"]
    return has_copies(device) and kept <= slots and row_bytes <= options["slice_bytes"] * programs


def has_copies(device: torch.device) -> bool:
    """Whether memory can be copied into shared memory meanwhile: on GPUs from sm_80 on."""
    return device.type == "meta" or (device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0))


def chunk_bytes(depth: int, warps: int) -> int:
    """Bytes of a chunk of a ring: ``depth`` times 16 bytes a thread."""
    return depth * 512 * warps


def ring_bytes(device: torch.device, programs: int) -> int:
    """Bytes of shared memory for a ring in each of so many ``programs`` on a multiprocessor."""
    return shared_bytes(device) // programs - PROGRAM_BYTES


def warps(block: int) -> int:
    """Warps of a program that holds ``block`` elements."""
    return 4 if block <= 2048 else 8 if block <= 8192 else 16 if block <= 32768 else 32


def registers(warps: int) -> int:
    """Registers a thread may have where so many warps are to be resident on a multiprocessor."""
    return min(255, REGISTERS // (32 * warps) // 8 * 8)  # they are given out by eight


def rows_per_program(block: int) -> int:
    """Rows of a tile whose rows take ``block`` elements each."""
    return max(1, TILE // block)


def stages(row_bytes: int) -> int:
    """Rows under way in a persistent program: one that is computed and, if it fits, one that is loaded."""
    return 2 if row_bytes <= LARGEST_AHEAD_BYTES else 1


def loop_block(columns: int) -> int:
    """Elements a step on a row of ``columns``."""
    return min(LOOP_BLOCK, 1 << (columns - 1).bit_length())


def multiprocessors(device: torch.device) -> int:
    """The GPU's multiprocessors; an H200's where kernels are compiled for none, and 1 on the host."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).multi_processor_count
    return 132 if device.type == "meta" else 1


def shared_bytes(device: torch.device) -> int:
    """Bytes of a multiprocessor's shared memory; an H200's where there is none."""
    cuda = device.type == "cuda"
    return torch.cuda.get_device_properties(device).shared_memory_per_multiprocessor if cuda else 228 << 10


def cache_bytes(device: torch.device) -> int:
    """Bytes of the GPU's L2 cache; an H200's where there is none."""
    return torch.cuda.get_device_properties(device).L2_cache_size if device.type == "cuda" else 60 * 2**20


def rows_under_way(device: torch.device, row_bytes: int) -> int:
    """Rows to read twice at a time: as many as half of the L2 cache holds, a whole number a multiprocessor.

    If it does not hold one for each, nothing is gained by a limit.
    """
    each = cache_bytes(device) // 2 // row_bytes // multiprocessors(device)
    return min(each or MOST_PROGRAMS, MOST_PROGRAMS) * multiprocessors(device)


def resident_programs(device: torch.device, warps: int) -> int:
    """How many programs of so many warps the device holds at once, if registers allow it."""
    return multiprocessors(device) * (THREADS // (32 * warps))


def splits(device: torch.device, rows: int, warps: int) -> int:
    """Programs for each of ``rows`` rows, so that all of them together are resident at once."""
    return max(1, resident_programs(device, warps) // rows)
