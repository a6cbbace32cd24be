"""Rung 0: five operations of torch, one after the other, each of which reads and writes the matrix.

Any M and N. Counted in elements: 5MN + 2M read, 3MN + 2M written, four times what has to move.
"""

from __future__ import annotations

import torch

from reference.softmax.arguments import COMPUTE_DTYPE, EmptyRow, operands


def softmax(x: torch.Tensor, out: torch.Tensor, *, empty_row: EmptyRow = "zero") -> None:
    """Softmax of each row of ``x`` (M×N) into ``out`` (M×N)."""
    if operands(x, out, empty_row).empty:
        return
    compute = COMPUTE_DTYPE[x.dtype]  # intermediates in 16 bits would be rounded three times over
    peak = x.amax(1, keepdim=True).to(compute)  # reads MN, writes M
    if empty_row == "zero":
        peak.masked_fill_(peak == -torch.inf, 0.0)  # M elements: not counted
    shifted = x - peak  # reads MN + M, writes MN
    weight = shifted.exp()  # reads MN, writes MN
    total = weight.sum(1, keepdim=True)  # reads MN, writes M
    if empty_row == "zero":
        total.masked_fill_(total == 0, 1.0)  # M elements: not counted
    torch.div(weight, total, out=out)  # reads MN + M, writes MN
