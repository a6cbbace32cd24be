"""The RMSNorm drill: what its cases hold, and why each asks for what its category says."""

from __future__ import annotations

import pytest
import torch

from graders.verdict import Lane
from reference.t3_rmsnorm import EPS
from tests.graders.calls import drawn
from tests.graders.row_drills import RMSNORM

L2_BYTES = 50 * 2**20
"""An H200's."""


def values_of(name: str, operand: int = 0) -> torch.Tensor:
    return drawn(RMSNORM.case_named(name)).inputs[operand].values


def mean_squares_of(name: str) -> list[float]:
    return values_of(name).double().square().mean(1).tolist()


def test_the_interpreter_is_not_asked_for_much():
    programs = sum(drawn(case).outs[0].layout.shape[0] * case.calls for case in RMSNORM.judged)
    assert programs < 300
    assert max(drawn(case).outs[0].layout.view_numel for case in RMSNORM.judged) <= 200_000


def test_a_weight_belongs_to_the_columns():
    for case in RMSNORM.judged:
        x, weight = drawn(case).inputs
        assert weight.values.shape == x.values.shape[1:]
        assert weight.values.dtype is x.values.dtype


def test_values_are_what_the_table_says():
    assert values_of("small_numbers", 1).tolist() == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    signs = values_of("both_signs_and_zero", 1).sign()
    assert signs.unique().tolist() == [-1.0, 0.0, 1.0]
    assert 333 <= int((signs == 0).sum()) <= 334
    assert float(values_of("around_zero", 1).abs().max()) < 0.1
    assert mean_squares_of("row_of_zeros").index(0.0) == 2
    assert not values_of("matrix_of_zeros").any()
    assert float(values_of("up_to_60000_fp16").abs().max()) > 50_000
    assert float(values_of("up_to_1e15").abs().max()) > 9e14
    assert mean_squares_of("one_peak") == pytest.approx([1e9] * 3)
    rows, columns = values_of("more_rows_than_columns").shape
    assert rows > columns


def test_weights_and_rows_lie_apart():
    strides = {case.name: [item.layout.strides for item in drawn(case).inputs] for case in RMSNORM.judged}
    assert strides["every_other_element"] == [(1000, 1), (2,)]
    assert strides["column_of_a_matrix"] == [(781, 1), (33,)]
    assert strides["views_unchanged"] == [(784, 1), (2,)]


@pytest.mark.parametrize("case", RMSNORM.judged, ids=lambda case: case.name)
def test_eps_decides_in_its_category_alone(case):
    """Elsewhere leaving it away is within the tolerance, so that no other category fails for it."""
    relative = RMSNORM.drill.manifest.tolerance.relative
    effect = [EPS / (2 * square) if square else float("inf") for square in mean_squares_of(case.name)]
    if case.category == "small":
        assert max(effect) > 100 * relative
    elif case.dtype == "float32":
        assert max(effect) < relative


def test_no_square_overflows_but_in_float16():
    for case in RMSNORM.judged:
        assert float(values_of(case.name).float().square().sum(1).max()) < 3e38


@pytest.mark.parametrize("name", ["many_elements", "many_rows"])
def test_real_sizes_wait_for_a_gpu(name: str):
    case = RMSNORM.case_named(name)
    assert case.skip_reason(Lane.INTERPRETER) is not None
    assert case.skip_reason(Lane.GPU, device_gb=139) is None


@pytest.mark.parametrize("shape", RMSNORM.drill.shapes, ids=lambda shape: shape.name)
def test_a_timed_call_moves_several_times_the_cache(shape):
    inputs, outs = shape.operands(shape.rows)
    assert [place.layout.shape for place in inputs] == [(shape.rows, shape.columns), (shape.columns,)]
    assert len(outs) == 1
    moved = shape.bytes_moved(shape.rows)
    assert moved == (2 * shape.rows + 1) * shape.columns * shape.dtype.itemsize
    assert moved > 5 * L2_BYTES
