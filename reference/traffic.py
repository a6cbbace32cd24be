"""How many bytes each way of computing a row softmax moves: what its speed is measured against.

Counted are the elements that programs load and store, whether memory or a cache serves them. A kernel can therefore
need less of the memory than this says (a second pass that finds its row in the L2 cache), but never less than
``fused``: the input has to be read and the output written.

Derivations (M rows, N columns, S programs a row): each is the sum of the passes named beside it. "Online" is the
recurrence of Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """Elements moved. Intermediates are kept apart because they are float32 even where the matrix has 16 bits."""

    x_read: int
    """Elements of the input that are loaded."""
    out_written: int
    """Elements of the output that are stored."""
    scratch_read: int = 0
    """Elements of intermediates that are loaded."""
    scratch_written: int = 0
    """Elements of intermediates that are stored."""

    @property
    def read(self) -> int:
        """All elements loaded."""
        return self.x_read + self.scratch_read

    @property
    def written(self) -> int:
        """All elements stored."""
        return self.out_written + self.scratch_written

    @property
    def elements(self) -> int:
        """All elements moved."""
        return self.read + self.written

    def bytes(self, itemsize: int, scratch_itemsize: int | None = None) -> int:
        """Bytes moved. ``itemsize`` is of x and out in bytes, ``scratch_itemsize`` of intermediates: the same or 4."""
        scratch = max(itemsize, 4) if scratch_itemsize is None else scratch_itemsize
        return (self.x_read + self.out_written) * itemsize + (self.scratch_read + self.scratch_written) * scratch


def naive(rows: int, columns: int) -> Traffic:
    """Five operations, each through memory: 5MN + 2M read, 3MN + 2M written.

    Maximum (MN read, M written), subtraction (MN + M, MN), exp (MN, MN), sum (MN, M), division (MN + M, MN).
    """
    matrix = rows * columns
    return Traffic(
        x_read=2 * matrix,
        out_written=matrix,
        scratch_read=3 * matrix + 2 * rows,
        scratch_written=2 * matrix + 2 * rows,
    )


def three_passes(rows: int, columns: int) -> Traffic:
    """One kernel, a row too long for it: maximum, sum, result, each reading the row: 3MN read, MN written."""
    return Traffic(x_read=3 * rows * columns, out_written=rows * columns)


def two_passes(rows: int, columns: int) -> Traffic:
    """Online: maximum and sum in one pass, the result in a second one: 2MN read, MN written."""
    return Traffic(x_read=2 * rows * columns, out_written=rows * columns)


def fused(rows: int, columns: int) -> Traffic:
    """The row stays on the chip: MN read, MN written. No softmax moves less."""
    return Traffic(x_read=rows * columns, out_written=rows * columns)


def split(rows: int, columns: int, splits: int = 1) -> Traffic:
    """Online, each row shared by S programs that leave (m, l) for one another: 2MN + 2MS² read, MN + 2MS written.

    Each of the S programs reads all S pairs of its row; memory sees them once, the L2 cache S times.
    """
    pairs = 2 * rows * splits
    return Traffic(2 * rows * columns, rows * columns, scratch_read=pairs * splits, scratch_written=pairs)


def ring(rows: int, columns: int, splits: int = 1) -> Traffic:
    """Fused, each row kept by S programs that leave (m, l) for one another: MN + 2MS² read, MN + 2MS written.

    One program that keeps the whole row leaves nothing.
    """
    pairs = 2 * rows * splits if splits > 1 else 0
    return Traffic(rows * columns, rows * columns, scratch_read=pairs * splits, scratch_written=pairs)
