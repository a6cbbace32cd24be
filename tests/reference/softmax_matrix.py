"""The correctness matrix of the ladder: variant × dtype × N × layout, every row of a matrix from another family.

``tests/reference`` runs small cases in Triton's interpreter, ``tests/gpu`` larger ones for real.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, product
from typing import get_args

import torch
from triton import cdiv, next_power_of_2

from graders.compare import compare
from graders.tolerance import OneRounding
from reference.softmax import RUNGS, EmptyRow, oracle, softmax

NAN, INF = float("nan"), float("inf")
SENTINEL = 7.0
"""Stands around every output and has to stand there afterwards; no softmax is 7."""

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
Family = Callable[[torch.Tensor], torch.Tensor]


def _with(row: torch.Tensor, column: int, value: float) -> torch.Tensor:
    row[column] = value
    return row


def _masked(row: torch.Tensor, columns: slice) -> torch.Tensor:
    row[columns] = -INF
    return row


def _ramp(row: torch.Tensor, start: float, stop: float) -> torch.Tensor:
    return row * 0.1 + torch.linspace(start, stop, row.numel(), dtype=row.dtype, device=row.device)


FAMILIES: dict[str, Family] = {
    "normal": lambda row: row,
    "wide": lambda row: row * 20,
    "offset": lambda row: row + 30_000,
    "around_minus_1000": lambda row: row - 1000,
    "below_minus_1e30": lambda row: row.abs() * -1e30,
    "all_equal": lambda row: torch.full_like(row, 3.25),
    "rising": lambda row: _ramp(row, 0, 20),
    "falling": lambda row: _ramp(row, 20, 0),
    "begins_masked": lambda row: _masked(row, slice(0, row.numel() - row.numel() // 3 - 1)),
    "ends_masked": lambda row: _masked(row, slice(row.numel() // 3 + 1, None)),
    "every_other_masked": lambda row: _masked(row, slice(1, None, 2)),
    "one_finite": lambda row: _with(_masked(row, slice(None)), row.numel() // 2, -5.0),
    "all_masked": lambda row: _masked(row, slice(None)),
    "nan": lambda row: _with(row, row.numel() // 2, NAN),
    "nan_among_masked": lambda row: _with(_masked(row, slice(None)), row.numel() - 1, NAN),
    "plus_infinity": lambda row: _with(row, 0, INF),
    "two_plus_infinities": lambda row: _with(_with(row, 0, INF), -1, INF),
}
"""What a row of N(0, 1) is made into. 16-bit types then round it, or take what is too large for an infinity."""


def matrix_of(families: Sequence[str], rows: int, columns: int, dtype: torch.dtype, device: str) -> torch.Tensor:
    """``rows`` rows of the families in turn, at least one of each."""
    generator = torch.Generator().manual_seed(columns)
    x = torch.randn(max(rows, len(families)), columns, generator=generator, dtype=torch.float64).to(device)
    for row, name in zip(range(len(x)), cycle(families), strict=False):
        x[row] = FAMILIES[name](x[row])
    return x.to(dtype)


def _with_block(rung: str, pieces: int, least: int = 1, **choices: int) -> Callable[..., object]:
    """The rung with blocks so small that a row takes about ``pieces`` of them."""

    def run(x: torch.Tensor, out: torch.Tensor, *, empty_row: EmptyRow) -> None:
        block = next_power_of_2(max(least, cdiv(x.shape[1], pieces)))
        RUNGS[rung].softmax(x, out, empty_row=empty_row, block=block, **choices)

    return run


VARIANTS: dict[str, Callable[..., object]] = {
    "dispatch": softmax,
    **{name: rung.softmax for name, rung in RUNGS.items()},
    "several_rows_tile_of_8": partial(RUNGS["several_rows"].softmax, rows_per_program=8),
    "persistent_2_programs": partial(RUNGS["persistent"].softmax, programs=2),
    "online_in_4": _with_block("online", 4, programs=2),
    "split_in_2": _with_block("split", 4, splits=2),
    "split_in_many": _with_block("split", 5, splits=1000),
    "pieces_of_1_warp": partial(RUNGS["pieces"].softmax, warps=1, stream=True, short=True),
    "aligned_tile_of_8": partial(RUNGS["aligned"].softmax, rows_per_program=8),
    "ring_of_1_warp": partial(RUNGS["ring"].softmax, warps=1, depth=1, programs=32),
}
"""The rungs as they are, and with the choices that make their loops turn on small matrices."""

LONGEST_ROW = {
    variant: rung.longest_row
    for variant in VARIANTS
    for name, rung in RUNGS.items()
    if variant == name or variant.startswith(f"{name}_")
} | {"pieces_of_1_warp": 2048}  # its one warp has no registers for more
"""By variant; None or absent: any."""

Layout = Callable[[int, int, torch.dtype, str], torch.Tensor]


def _strided(row_padding: int, column_stride: int, offset: int) -> Layout:
    def view(rows: int, columns: int, dtype: torch.dtype, device: str) -> torch.Tensor:
        row_stride = columns * column_stride + row_padding
        storage = torch.full((offset + rows * row_stride + 64,), SENTINEL, dtype=dtype, device=device)
        return storage.as_strided((rows, columns), (row_stride, column_stride), offset)

    return view


def _transposed(rows: int, columns: int, dtype: torch.dtype, device: str) -> torch.Tensor:
    return torch.full((columns, rows), SENTINEL, dtype=dtype, device=device).t()


CONTIGUOUS = _strided(0, 1, 0)
LAYOUTS: dict[str, tuple[Layout, Layout]] = {
    "contiguous": (CONTIGUOUS, CONTIGUOUS),
    "padded_rows": (_strided(24, 1, 0), _strided(3, 1, 0)),
    "misaligned": (_strided(1, 1, 1), _strided(3, 1, 5)),
    "every_other_column": (_strided(5, 2, 0), CONTIGUOUS),
    "every_third_column_of_out": (CONTIGUOUS, _strided(0, 3, 2)),
    "transposed": (_transposed, CONTIGUOUS),
    "both_transposed": (_transposed, _transposed),
}
"""How x and out lie in memory."""


@dataclass(frozen=True)
class Case:
    """One call of a variant and its comparison with the oracle, for both meanings of an all −inf row."""

    variant: str
    dtype: torch.dtype
    columns: int
    layout: str = "contiguous"
    rows: int = 0
    families: tuple[str, ...] = tuple(FAMILIES)

    @property
    def name(self) -> str:
        return f"{self.variant}-{str(self.dtype).removeprefix('torch.')}-{self.columns}-{self.layout}"

    @property
    def possible(self) -> bool:
        """Whether the variant takes rows of this length."""
        longest = LONGEST_ROW.get(self.variant)
        return longest is None or self.columns <= longest

    def fault(self, device: str) -> str | None:
        """What is wrong, or None."""
        values = matrix_of(self.families, self.rows, self.columns, self.dtype, device)
        for empty_row in get_args(EmptyRow):
            found = self._fault(values, device, empty_row)
            if found:
                return f"empty_row={empty_row}: {found}"
        return None

    def _fault(self, values: torch.Tensor, device: str, empty_row: EmptyRow) -> str | None:
        place_x, place_out = LAYOUTS[self.layout]
        rows, columns = values.shape
        x, out = (place(rows, columns, self.dtype, device) for place in (place_x, place_out))
        x.copy_(values)
        x_before, out_before = (_storage(tensor).clone() for tensor in (x, out))
        VARIANTS[self.variant](x, out, empty_row=empty_row)
        found = difference(out, x, empty_row, self.families)
        if found:
            return found
        if not torch.equal(_storage(x).nan_to_num(1.5), x_before.nan_to_num(1.5)):
            return "x has been changed"
        out.fill_(SENTINEL)
        return None if torch.equal(_storage(out), out_before) else "something beside out has been written"


def _storage(tensor: torch.Tensor) -> torch.Tensor:
    size = tensor.untyped_storage().nbytes() // tensor.itemsize
    return tensor.as_strided((size,), (1,), 0)


def difference(
    out: torch.Tensor, x: torch.Tensor, empty_row: EmptyRow = "zero", families: Sequence[str] = ("",)
) -> str | None:
    """How ``out`` differs from the oracle beyond one rounding, and in a row of which of the families."""
    policy = OneRounding(1e-13 if x.dtype is torch.float64 else 2e-5)
    found = compare(out, oracle(x, empty_row), policy)
    if found is None:
        return None
    if found.first is None:
        return found.pattern
    family = families[found.first.index[0] % len(families)]
    return f"{found.count} of {found.total}, first in a row of {family!r}: {found.first} {found.pattern}"


def cases(columns: tuple[int, ...], layout_columns: tuple[int, ...], rows: int = 0) -> list[Case]:
    """Every variant and dtype at every N of ``columns``, and in every layout at every N of ``layout_columns``."""
    plain = [Case(variant, dtype, n, rows=rows) for variant, dtype, n in product(VARIANTS, DTYPES, columns)]
    placed = [
        Case(variant, dtype, n, layout, rows, families=("normal", "all_masked", "begins_masked"))
        for variant, dtype, n, layout in product(VARIANTS, DTYPES[:3], layout_columns, [*LAYOUTS][1:])
    ]
    return [case for case in (*plain, *placed) if case.possible]


INTERPRETER_CASES = cases(columns=(1, 127, 1025), layout_columns=(40,))
INTERPRETER_SKIPS = {
    torch.bfloat16: "Triton's interpreter truncates bfloat16 where a GPU rounds, and computes in it wrongly"
}
