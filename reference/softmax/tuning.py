"""Every choice of block, warps and rung in one place. Correctness depends on none of it.

The numbers hold about 16 to 64 float32 a thread, so that a row fits the registers without spilling.
"""

from __future__ import annotations

import torch

SHORT_ROW = 1024
"""Rows up to here go several to a program."""

LONG_ROW = 32768
"""Rows up to here stay in registers as float32; half as many elements as float64."""

TILE = 4096
"""Elements of a program that takes several rows."""

LOOP_BLOCK = 8192
"""Elements a step on rows that do not fit."""

STAGES = 2
"""Rows under way in a persistent program: one that is computed and one that is loaded."""

THREADS = 2048
"""Threads that a multiprocessor holds."""


def warps(block: int) -> int:
    """Warps of a program that holds ``block`` elements."""
    return 4 if block <= 2048 else 8 if block <= 8192 else 16 if block <= 32768 else 32


def rows_per_program(block: int) -> int:
    """Rows of a tile whose rows take ``block`` elements each."""
    return max(1, TILE // block)


def loop_block(columns: int) -> int:
    """Elements a step on a row of ``columns``."""
    return min(LOOP_BLOCK, 1 << (columns - 1).bit_length())


def multiprocessors(device: torch.device) -> int:
    """The GPU's multiprocessors; 1 where there is no GPU."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def resident_programs(device: torch.device, warps: int) -> int:
    """How many programs of so many warps the device holds at once, if registers allow it."""
    return multiprocessors(device) * (THREADS // (32 * warps))


def splits(device: torch.device, rows: int, warps: int) -> int:
    """Programs for each of ``rows`` rows, so that all of them together are resident at once."""
    return max(1, resident_programs(device, warps) // rows)


def rung(device: torch.device, rows: int, columns: int, itemsize: int) -> str:
    """The name of the rung that takes a matrix of M×N elements computed in ``itemsize`` bytes each."""
    if columns <= SHORT_ROW:
        return "several_rows"
    if columns * itemsize <= LONG_ROW * 4:
        return "one_row"
    return "split" if rows < multiprocessors(device) else "online"
