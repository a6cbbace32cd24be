"""The two tables: every kernel as it is launched, and the fused kernel by its number of warps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, product

import torch
import triton

from reference import t2_softmax
from reference.resources.occupancy import resident_programs
from reference.resources.recording import Launch, launches_of
from reference.resources.usage import Usage, usage_of
from reference.softmax import RUNGS

LENGTHS = tuple(1024 << power for power in range(7))
"""N from 1K to 64K."""

CAPABILITIES = (80, 90, 100)
ROWS = 4096
"""M, which no kernel is compiled for."""

WARPS = (1, 2, 4, 8, 16, 32)
MOST_PER_THREAD = 128
"""Elements a thread beyond which a kernel is all spills and takes long to compile."""


@dataclass(frozen=True)
class Subject:
    """A function whose kernels are told of: ``softmax(x, out)``, rows of at most ``longest_row`` elements."""

    softmax: Callable[[torch.Tensor, torch.Tensor], object]
    longest_row: int | None = None


SUBJECTS = {
    **{name: Subject(rung.softmax, rung.longest_row) for name, rung in RUNGS.items() if name != "naive"},
    "t2_softmax": Subject(t2_softmax.softmax),
}
"""What the first table has, by name. Whatever launches Triton kernels can be added."""


@dataclass(frozen=True)
class Entry:
    """A kernel of a subject, compiled for all of ``CAPABILITIES``, that serves rows of ``first`` to ``last``."""

    subject: str
    first: int
    last: int
    usages: tuple[Usage, ...]


def launches(subject: Subject, columns: int) -> list[Launch]:
    """What the subject launches for a contiguous float32 matrix with rows of ``columns``."""
    x = torch.empty((ROWS, columns), device="meta")
    return launches_of(lambda: subject.softmax(x, torch.empty_like(x)))


def entries(names: Iterable[str] = SUBJECTS, lengths: Iterable[int] = LENGTHS) -> list[Entry]:
    """The kernels of the named subjects; neighbouring lengths for which nothing differs are one entry."""
    by_kernel: dict[tuple[str, str], list[Entry]] = {}
    for name, columns in product(names, lengths):
        subject = SUBJECTS[name]
        if subject.longest_row is not None and columns > subject.longest_row:
            continue
        for launch in launches(subject, columns):
            usages = tuple(usage_of(launch, capability) for capability in CAPABILITIES)
            by_kernel.setdefault((name, usages[0].kernel), []).append(Entry(name, columns, columns, usages))
    return [entry for of_kernel in by_kernel.values() for entry in _merged(of_kernel)]


def _merged(of_kernel: list[Entry]) -> Iterator[Entry]:
    for _, same in groupby(of_kernel, key=lambda entry: entry.usages):
        run = list(same)
        yield replace(run[0], last=run[-1].last)


def kernel_table(found: Iterable[Entry]) -> list[str]:
    """Markdown: registers and spilled bytes a thread by target, shared bytes a program (of sm_90)."""
    targets = " / ".join(f"sm_{capability}" for capability in CAPABILITIES)
    lines = [
        f"| rung | kernel | N | warps | registers {targets} | spilled bytes {targets} | shared bytes |",
        "|---|---|---|---|---|---|---|",
    ]
    for entry in found:
        registers, spilled = (
            " / ".join(str(value) for value in values)
            for values in zip(*((usage.registers, usage.spilled_bytes) for usage in entry.usages), strict=True)
        )
        lines.append(
            f"| {entry.subject} | `{entry.usages[0].kernel}` | {_lengths(entry)} | {entry.usages[0].warps} "
            f"| {registers} | {spilled} | {entry.usages[1].shared_bytes} |"
        )
    return lines


def _lengths(entry: Entry) -> str:
    first, last = f"{entry.first // 1024}K", f"{entry.last // 1024}K"
    return first if first == last else f"{first} to {last}"


def warps_table(lengths: Iterable[int] = LENGTHS) -> list[str]:
    """Markdown: the fused kernel on sm_90 by warps: registers a thread, spills, KiB of rows on a multiprocessor."""
    lines = [
        "| N | " + " | ".join(f"{warps} warp{'s' * (warps > 1)}" for warps in WARPS) + " |",
        "|---" * (len(WARPS) + 1) + "|",
    ]
    for columns in lengths:
        (launch,) = launches(SUBJECTS["one_row"], columns)
        cells = [_cell(launch, columns, warps) for warps in WARPS]
        lines.append(f"| {columns // 1024}K | " + " | ".join(cells) + " |")
    return lines


def _cell(launch: Launch, columns: int, warps: int) -> str:
    per_thread = triton.next_power_of_2(columns) // (32 * warps)
    if per_thread > MOST_PER_THREAD:
        return "–"
    usage = usage_of(launch, 90, warps)
    kib = resident_programs(usage.registers, warps, usage.shared_bytes) * columns * 4 // 1024
    spilled = f", {usage.spilled_bytes} B spilled" if usage.spilled_bytes else ""
    return f"{usage.registers}{spilled}: {kib} KiB"
