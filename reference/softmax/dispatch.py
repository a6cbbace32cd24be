"""The softmax to call: it takes any matrix and picks the rung that suits it."""

from __future__ import annotations

import torch

from reference.softmax import ladder, tuning
from reference.softmax.arguments import EmptyRow, operands


def softmax(x: torch.Tensor, out: torch.Tensor | None = None, *, empty_row: EmptyRow = "zero") -> torch.Tensor:
    """Softmax of each row of ``x`` (M×N) into ``out``, which is returned; a new contiguous matrix if none is given.

    float16, bfloat16, float32 and float64; any strides on both sides; M and N may be 0. 16-bit input is computed in
    float32 and rounded once. A row that is all −inf gives zeros, or NaN with ``empty_row="nan"`` as torch has it; a
    row with NaN or +inf gives NaN. ``out`` may be ``x`` itself, but must not overlap it otherwise. Runs on the current
    stream of x's device and can be captured in a CUDA graph. Raises ValueError for what is not a pair of matrices.
    """
    if out is None:
        out = torch.empty_like(x, memory_format=torch.contiguous_format)
    given = operands(x, out, empty_row)
    if not given.empty:
        chosen = tuning.choice(x.device, given.rows, given.columns, x.itemsize)
        with torch.cuda.device_of(x):
            ladder.RUNGS[chosen.rung].softmax(x, out, empty_row=empty_row, **chosen.options)
    return out
