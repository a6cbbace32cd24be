"""The row softmax drill: what its cases hold."""

from __future__ import annotations

import pytest
import torch

from graders.memory import Draw
from graders.verdict import Lane
from tests.graders.calls import drawn
from tests.graders.row_drills import ROW


def values_of(name: str) -> torch.Tensor:
    return drawn(ROW.case_named(name)).inputs[0].values


def test_the_interpreter_is_not_asked_for_much():
    programs = sum(drawn(case).outs[0].layout.shape[0] * case.calls for case in ROW.judged)
    assert programs < 400
    assert max(drawn(case).outs[0].layout.view_numel for case in ROW.judged) <= 200_000


def test_values_are_what_the_table_says():
    assert set(values_of("small_numbers").flatten().tolist()) <= {-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0}
    assert float(values_of("around_minus_1000_n1025").max()) < -900
    assert float(values_of("near_minus_1e30").max()) == pytest.approx(-1e30)
    assert float(values_of("up_to_60000_fp16").abs().max()) > 50_000
    assert values_of("one_finite").isfinite().sum(1).tolist() == [1, 1, 1]
    assert values_of("first_and_last_row").isfinite().any(1).tolist() == [False, True, True, False]
    assert not values_of("whole_matrix").isfinite().any()
    assert values_of("causal").isfinite().sum(1).tolist() == list(range(1, 17))
    assert float(values_of("over_11_float16").min()) > 11
    late = values_of("first_blocks_of_a_long_row").isfinite()
    assert not late[0, :32_768].any()
    assert not late[-1, :-32].any()


@pytest.mark.parametrize("name", ["many_elements", "many_rows"])
def test_real_sizes_wait_for_a_gpu(name: str):
    case = ROW.case_named(name)
    reason = case.skip_reason(Lane.INTERPRETER)
    assert reason is not None
    assert reason.key == "skip.needs_gpu"
    assert case.skip_reason(Lane.GPU, device_gb=139) is None


def test_a_small_gpu_is_spared():
    reason = ROW.case_named("many_elements").skip_reason(Lane.GPU, device_gb=24)
    assert reason is not None
    assert reason.key == "skip.device_memory"
    x = ROW.case_named("many_elements").make(Draw(torch.Generator().manual_seed(1), interpreter=False)).inputs[0]
    assert x.layout.view_numel > 2**31
    assert x.values.untyped_storage().nbytes() < 1 << 20
