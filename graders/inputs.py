"""Families of layouts that drills share: the words in which a ``cases.py`` is written.

Every function returns an ``Operand`` or a ``Destination`` for a 2-D tensor of M rows and N columns, ``vector`` one for
N elements; strides and offsets count elements.
"""

from __future__ import annotations

import torch

from graders.memory import Decoy, Destination, Layout, Operand

GUARD = 64
"""Guard elements on both sides of every storage."""


def strided(
    values: torch.Tensor,
    *,
    row_stride: int | None = None,
    column_stride: int = 1,
    offset: int = 0,
    lead: int = 0,
    decoys: tuple[Decoy, ...] = (),
) -> Operand:
    """Rows ``row_stride`` apart, neighbours in a row ``column_stride`` apart, NaN poison everywhere else.

    Without strides the rows lie one after the other. ``big[:, a:a + N]`` of W columns is ``row_stride=W, offset=a``.
    ``lead`` is room for decoys before the view.
    """
    rows, columns = values.shape
    if row_stride is None:
        row_stride = max(columns, 1) * column_stride
    before, after = GUARD + offset + lead, GUARD + max(0, row_stride - columns * column_stride)
    return Operand(values, Layout.of((rows, columns), (row_stride, column_stride), before, after), decoys=decoys)


def transposed(values: torch.Tensor) -> Operand:
    """The transpose of a contiguous N×M tensor: stride(0) = 1, stride(1) = M."""
    rows, columns = values.shape
    return Operand(values, Layout.of((rows, columns), (1, max(rows, 1)), GUARD, GUARD))


def vector(values: torch.Tensor, *, stride: int = 1) -> Operand:
    """Elements ``stride`` apart, NaN poison everywhere else: a column of a matrix that has ``stride`` columns."""
    return Operand(values, Layout.of(values.shape, (stride,), GUARD, GUARD + stride - 1))


def destination(like: Operand, *, row_stride: int | None = None, lead: int = 0) -> Destination:
    """An output of the input's shape and dtype, last stride 1, its own row stride.

    The guard after it takes what ordinary mistakes write there, so that they are told as such and crash nothing:
    it reaches as far as the input does, for those who write with the input's strides, and holds the rest of a
    block, for those who store without a mask. ``lead`` is room for addresses that a mistake turns negative.
    """
    rows, columns = like.values.shape
    stride = row_stride or max(columns, 1)
    beyond_input = like.layout.numel - (rows - 1) * stride - columns
    rest_of_block = (1 << (columns - 1).bit_length()) - columns if columns else 0
    tail = GUARD + max(0, beyond_input, rest_of_block)
    return Destination(like.values.dtype, Layout.of((rows, columns), (stride, 1), GUARD + lead, tail))
