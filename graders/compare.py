"""Is an output right, and if not, what do the wrong elements look like?

Works on any device with torch operations alone, and in blocks of rows, so that a matrix of 2^31 elements
needs no more than a few hundred MiB besides itself and the oracle's output.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import torch

from graders.report import Mismatch, WrongElement
from graders.tolerance import Policy, ulp

BLOCK_NUMEL = 1 << 22
"""Elements compared at a time."""

TOLD = 5
"""Wrong elements that are told, the first among them."""

MOST = 0.9
"""The share of elements from which on a pattern is said to be filled, where a few happen to be right."""


class Pattern(StrEnum):
    """What wrong elements look like together. Sentences: ``pattern.<name>``."""

    ALL_NAN = "all_nan"
    NAN_ROWS = "nan_rows"
    NAN_TAIL_COLUMNS = "nan_tail_columns"
    NAN_ELEMENTS = "nan_elements"
    NAN_MISSING = "nan_missing"
    INFINITE = "infinite"
    ALL_ZERO = "all_zero"
    CONSTANT_FACTOR_PER_ROW = "constant_factor_per_row"
    EVERY_ELEMENT = "every_element"
    MOST_ELEMENTS = "most_elements"
    FIRST_ROWS = "first_rows"
    LAST_ROWS = "last_rows"
    ROWS = "rows"
    FIRST_COLUMNS = "first_columns"
    TAIL_COLUMNS = "tail_columns"
    COLUMNS = "columns"
    SCATTERED = "scattered"


_OF_NAN = {
    Pattern.EVERY_ELEMENT: Pattern.ALL_NAN,
    Pattern.FIRST_ROWS: Pattern.NAN_ROWS,
    Pattern.LAST_ROWS: Pattern.NAN_ROWS,
    Pattern.ROWS: Pattern.NAN_ROWS,
    Pattern.TAIL_COLUMNS: Pattern.NAN_TAIL_COLUMNS,
}
"""What a place is called when all that is wrong there is NaN."""


def compare(got: torch.Tensor, expected: torch.Tensor, policy: Policy) -> Mismatch | None:
    """How ``got`` differs from the oracle's float64 ``expected`` of the same shape, or None if it does not.

    Where the oracle is NaN or infinite the output has to be exactly that; elsewhere NaN never passes.
    """
    if got.is_cuda and got.numel() and not _anything_wrong_on_gpu(got, expected, policy):
        return None
    rows, expected_rows = _as_rows(got), _as_rows(expected)
    tally: _Tally | None = None
    for start, stop in _blocks(rows):
        block, expected_block = rows[start:stop], expected_rows[start:stop]
        wrong = _wrong(block, expected_block, policy)
        if wrong.any():
            tally = tally or _Tally.of(rows, _some(start, block, expected_block, wrong, got.shape, policy))
            tally.add(start, block, expected_block, wrong, policy)
    return None if tally is None else tally.mismatch()


def _anything_wrong_on_gpu(got: torch.Tensor, expected: torch.Tensor, policy: Policy) -> bool:
    from graders.compare_kernel import anything_wrong  # a host without a GPU needs no compiler

    return anything_wrong(got, expected, policy)


def _as_rows(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as a matrix whose rows are its last dimension."""
    return tensor if tensor.dim() == 2 else tensor.reshape(-1, tensor.shape[-1] if tensor.dim() else 1)


def _blocks(rows: torch.Tensor) -> Iterator[tuple[int, int]]:
    step = max(1, BLOCK_NUMEL // max(rows.shape[1], 1))
    return ((start, start + step) for start in range(0, rows.shape[0] if rows.shape[1] else 0, step))


def _wrong(got: torch.Tensor, expected: torch.Tensor, policy: Policy) -> torch.Tensor:
    """Mask of the wrong elements."""
    near = (got - expected).abs_() <= policy.bound(expected, got.dtype)  # False for NaN
    finite = expected.isfinite()
    if finite.all():
        return near.logical_not_()
    same = (got == expected) | (got.isnan() & expected.isnan())
    return torch.where(finite, near, same).logical_not_()


@dataclass
class _Tally:
    """What the blocks seen so far say of the wrong elements."""

    per_row: torch.Tensor
    per_column: torch.Tensor
    some: list[WrongElement]
    max_abs: float | None = None
    max_ulp: float | None = None
    sum_abs: float = 0.0
    finite: int = 0
    nan_missing: int = 0
    nan: int = 0
    infinite: int = 0
    zero: int = 0
    same_factor: bool = True

    @classmethod
    def of(cls, rows: torch.Tensor, some: list[WrongElement]) -> _Tally:
        per_row, per_column = (torch.zeros(size, dtype=torch.int64) for size in rows.shape)
        return cls(per_row, per_column, some)

    def add(self, start: int, got: torch.Tensor, expected: torch.Tensor, wrong: torch.Tensor, policy: Policy) -> None:
        """Count a block of rows from ``start`` on, in which something is ``wrong``."""
        self.per_row[start : start + len(got)] = wrong.sum(1).cpu()
        self.per_column += wrong.sum(0).cpu()
        kinds = (wrong & expected.isnan(), wrong & got.isnan(), wrong & got.isinf(), wrong & (got == 0))
        missing, nan, infinite, zero = (int(kind.sum()) for kind in kinds)
        self.nan_missing, self.nan = self.nan_missing + missing, self.nan + nan
        self.infinite, self.zero = self.infinite + infinite, self.zero + zero
        self._measure(got, expected, wrong)
        if self.same_factor:
            affected = wrong.any(1)
            self.same_factor = _scaled_by_row(got[affected], expected[affected], policy)

    def _measure(self, got: torch.Tensor, expected: torch.Tensor, wrong: torch.Tensor) -> None:
        error = (got - expected).abs_()
        counted = wrong & error.isfinite()
        error.masked_fill_(~counted, 0.0)
        finite = int(counted.sum())
        if not finite:
            return
        self.sum_abs, self.finite = self.sum_abs + float(error.sum()), self.finite + finite
        self.max_abs = max(self.max_abs or 0.0, float(error.max()))
        steps = error.div_(ulp(expected, got.dtype))
        self.max_ulp = max(self.max_ulp or 0.0, float(steps.max()))

    def mismatch(self) -> Mismatch:
        return Mismatch(
            count=self.count,
            total=self.total,
            max_abs=self.max_abs,
            max_ulp=self.max_ulp,
            mean_abs=self.sum_abs / self.finite if self.finite else None,
            first=self.some[0],
            more=self.some[1:],
            pattern=f"pattern.{self.pattern()}",
        )

    @property
    def count(self) -> int:
        return int(self.per_row.sum())

    @property
    def total(self) -> int:
        return len(self.per_row) * self.columns

    @property
    def columns(self) -> int:
        return len(self.per_column)

    def pattern(self) -> Pattern:
        """The name that fits the wrong elements best: by value where that says more, else by place."""
        place = self._place()
        if self.nan_missing == self.count:
            return Pattern.NAN_MISSING
        if self.nan == self.count:
            return _OF_NAN.get(place, Pattern.NAN_ELEMENTS)
        if self.infinite == self.count:
            return Pattern.INFINITE
        if self.zero == self.count and self.count >= MOST * self.total:
            return Pattern.ALL_ZERO
        return Pattern.CONSTANT_FACTOR_PER_ROW if self.same_factor else place

    def _place(self) -> Pattern:
        rows, columns = self.per_row.nonzero().flatten().tolist(), self.per_column.nonzero().flatten().tolist()
        if self.count == self.total:
            return Pattern.EVERY_ELEMENT
        if bool((self.per_row[rows] == self.columns).all()):
            return _at_an_end(rows, len(self.per_row), Pattern.FIRST_ROWS, Pattern.LAST_ROWS, Pattern.ROWS)
        if self.count >= MOST * len(rows) * len(columns):
            place = _at_an_end(columns, self.columns, Pattern.FIRST_COLUMNS, Pattern.TAIL_COLUMNS, Pattern.COLUMNS)
            return Pattern.MOST_ELEMENTS if len(columns) == self.columns else place
        return Pattern.MOST_ELEMENTS if self.count >= MOST * self.total else Pattern.SCATTERED


def _at_an_end(indices: list[int], size: int, first: Pattern, last: Pattern, elsewhere: Pattern) -> Pattern:
    """Whether ascending ``indices`` are a run at the beginning or at the end of ``range(size)``."""
    if indices[-1] - indices[0] + 1 != len(indices):
        return elsewhere
    if indices[-1] == size - 1:
        return last
    return first if indices[0] == 0 else elsewhere


def _scaled_by_row(got: torch.Tensor, expected: torch.Tensor, policy: Policy) -> bool:
    """Whether every row is the right one times a factor of its own: a wrong denominator."""
    if got.shape[1] < 3 or not (got.isfinite().all() and expected.isfinite().all()):
        return False
    anchor = expected.abs().argmax(1, keepdim=True)  # where rounding matters least
    factor = got.gather(1, anchor) / expected.gather(1, anchor)
    if not ((factor > 0) & factor.isfinite()).all():
        return False
    scaled = expected * factor
    rounding = torch.finfo(got.dtype).eps * scaled.abs()  # the factor has been rounded as well
    return bool(((got - scaled).abs_() <= policy.bound(scaled, got.dtype).mul_(2).add_(rounding)).all())


def _some(
    start: int, got: torch.Tensor, expected: torch.Tensor, wrong: torch.Tensor, shape: torch.Size, policy: Policy
) -> list[WrongElement]:
    """The first wrong element of a block that begins at row ``start`` of an output of ``shape``, and a few more, spread
    over all that are wrong in the block, the last among them."""
    places = wrong.flatten().nonzero().flatten()
    count = min(len(places), TOLD)
    chosen = [int(places[(len(places) - 1) * number // max(count - 1, 1)]) for number in range(count)]
    bound = policy.bound(expected, got.dtype)
    told = []
    for place in chosen:
        row, column = divmod(place, wrong.shape[1])
        right = expected[row, column]
        told.append(
            WrongElement(
                index=_index(start * wrong.shape[1] + place, shape),
                expected=decimal(float(right), torch.float32),
                got=decimal(float(got[row, column]), got.dtype),
                allowed=float(bound[row, column]) if right.isfinite() else None,
            )
        )
    return told


def _index(place: int, shape: torch.Size) -> list[int]:
    """The index, in an output of ``shape``, of an element that stands at ``place`` in it."""
    index: list[int] = []
    for size in reversed(shape):
        place, position = divmod(place, size)
        index.insert(0, position)
    return index


def decimal(value: float, dtype: torch.dtype) -> str:
    """The value with as many digits as tell two neighbours of ``dtype`` apart."""
    return f"{value:.{5 if dtype.itemsize < 4 else 9}g}"
