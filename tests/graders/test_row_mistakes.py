"""What the models of mistakes over rows say of the row softmax drill's cases."""

from __future__ import annotations

import pytest
import torch

from graders.diagnosis import Evidence, diagnose
from tests.graders.calls import drawn, placed
from tests.graders.row_drills import ROW


def written_like_x(ordinal: int, name: str, *, backwards: bool) -> Evidence:
    """A case whose right rows were written with the stride of x, the last or the first of them last."""
    case = placed(drawn(ROW.case_named(name)))
    (x,), (out,) = case.inputs, case.outs
    rows, columns = x.shape
    expected = ROW.drill.oracle(x)
    right, memory = expected[0].float(), torch.full((rows * (x.stride(0) + columns),), torch.nan)
    for row in reversed(range(rows)) if backwards else range(rows):
        memory[row * x.stride(0) :][:columns] = right[row]
    return Evidence(ordinal, False, case.call, (memory[: out.numel()].view_as(out),), expected)


@pytest.mark.parametrize("backwards", [False, True])
def test_rows_that_were_written_over_one_another_refute_nothing(backwards: bool) -> None:
    """With the stride of a transposed x they are: by the interpreter in their order, by a GPU in any."""
    evidence = [written_like_x(1, "padded_rows", backwards=backwards)]
    evidence.append(written_like_x(2, "transposed", backwards=backwards))
    (found,) = diagnose(ROW.drill.misconceptions, evidence, "", ROW.drill.policy)
    assert (found.misconception, found.cases) == ("out_like_x", [1])
