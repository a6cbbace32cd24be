"""What every kernel is held against: softmax in float64, by torch alone."""

from __future__ import annotations

import torch

from reference.softmax.arguments import EmptyRow

BLOCK_NUMEL = 1 << 24
"""Elements worked on at a time, to keep the temporaries small beside a huge matrix."""


def oracle(x: torch.Tensor, empty_row: EmptyRow = "zero") -> torch.Tensor:
    """Softmax of each row of ``x`` (M×N, values as stored) in float64, shape M×N.

    A row that is all −inf gives zeros, or NaN as torch has it. A row with NaN or +inf gives NaN.
    """
    rows, columns = x.shape
    y = torch.empty((rows, columns), dtype=torch.float64, device=x.device)
    step = max(1, BLOCK_NUMEL // max(columns, 1))
    for start in range(0, rows if columns else 0, step):
        block = x[start : start + step].double()
        peak = block.amax(1, keepdim=True)  # NaN if any is: so is the row
        weight = (block - peak.masked_fill(peak == -torch.inf, 0.0)).exp_()
        total = weight.sum(1, keepdim=True)
        if empty_row == "zero":
            total.masked_fill_(total == 0, 1.0)
        y[start : start + step] = weight.div_(total)
    return y
