"""How many programs a multiprocessor holds at once, and so how many bytes of rows it has under way.

Figures of sm_80, sm_90 and sm_100 from the CUDA C++ Programming Guide, "Technical Specifications per Compute
Capability": the same for all three but for shared memory, where the smallest is taken.
"""

from __future__ import annotations

REGISTERS = 65536
"""32-bit registers of a multiprocessor."""

REGISTERS_PER_WARP = 256
"""A warp gets registers in units of so many: 8 a thread."""

WARPS = 64
"""Warps of a multiprocessor."""

PROGRAMS = 32
"""Programs (thread blocks) of a multiprocessor."""

SHARED_BYTES = 164 * 1024
"""Shared memory of a multiprocessor of sm_80; 228 KiB on the others."""

SHARED_BYTES_RESERVED = 1024
"""What the system takes of it for every program."""


def resident_programs(registers: int, warps: int, shared_bytes: int) -> int:
    """Programs of so many warps, ``registers`` a thread and shared bytes a program, on one multiprocessor."""
    per_warp = -(-registers * 32 // REGISTERS_PER_WARP) * REGISTERS_PER_WARP
    return min(
        REGISTERS // per_warp // warps,
        WARPS // warps,
        PROGRAMS,
        SHARED_BYTES // (shared_bytes + SHARED_BYTES_RESERVED),
    )
