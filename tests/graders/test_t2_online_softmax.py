"""The online softmax drill: what its cases hold, and why each asks for what its category says."""

from __future__ import annotations

import pytest
import torch

from graders.memory import Draw
from graders.verdict import Lane
from tests.graders.calls import drawn
from tests.graders.row_drills import ONLINE

INF = float("inf")
BLOCKS = (256, 1024, 4096, 8192)


def values_of(name: str) -> torch.Tensor:
    return drawn(ONLINE.case_named(name)).inputs[0].values


def peaks_of(name: str, block: int) -> torch.Tensor:
    """The maximum of each block of each row."""
    x = values_of(name)
    filled = torch.nn.functional.pad(x, (0, -x.shape[1] % block), value=-INF)
    return filled.view(len(x), -1, block).amax(2)


def test_the_interpreter_is_not_asked_for_much():
    layouts = [(drawn(case).outs[0].layout, case.calls) for case in ONLINE.judged]
    assert sum(layout.view_numel * calls for layout, calls in layouts) < 3_200_000
    steps = sum(layout.shape[0] * -(-layout.shape[1] // 8192) * calls for layout, calls in layouts)
    assert steps < 500


@pytest.mark.parametrize("block", BLOCKS)
def test_the_maximum_changes_where_it_should(block: int):
    up, down = peaks_of("ramp_up", block)[0], peaks_of("ramp_down", block)[0]
    assert bool((up.diff() > 0).all())
    assert int(down.argmax()) == 0
    late, early = peaks_of("up_and_down", block).argmax(1).tolist()
    assert late > 0.9 * (len(up) - 1) > early
    assert int(peaks_of("late_spike_100", block)[0].argmax()) == len(up) - 1
    assert int(peaks_of("early_spike_100", block)[0].argmax()) == 0
    assert len(peaks_of("growing_spikes", block)[0].cummax(0).values.unique()) >= min(len(up), 4) - 1


@pytest.mark.parametrize("block", [*BLOCKS, 16_384, 32_768, 65_536])
def test_whole_blocks_are_empty(block: int):
    assert float(peaks_of("first_blocks_of_a_long_row", block)[0, 0]) == -INF
    if block <= 8192:
        assert bool((peaks_of("first_blocks", block)[:, 0] == -INF).all())
        assert bool(peaks_of("middle_blocks", block)[0, [0, -1]].isfinite().all()), "but not the outer ones"
        assert float(peaks_of("last_blocks", block)[0, -1]) == -INF
    if block <= 4096:
        assert bool((peaks_of("middle_blocks", block)[0] == -INF).any())


def test_values_are_what_the_table_says():
    assert float(values_of("late_spike_100").max()) > 90
    assert values_of("one_finite").isfinite().sum(1).tolist() == [1, 1, 1]
    assert values_of("one_row").isfinite().any(1).tolist() == [True, False, True]
    for name in ("whole_matrix", "single_long_row"):
        assert bool((values_of(name) == -INF).all())
    for name, kind in (("nan_in_the_first_block", torch.isnan), ("plus_inf", torch.isposinf)):
        assert kind(values_of(name)).sum(1).tolist() == [0, 1]
    assert bool((values_of("nan_beside_inf")[1].isnan() | (values_of("nan_beside_inf")[1] == -INF)).all())
    assert float(values_of("around_minus_1000").max()) < -900
    assert float(values_of("around_30000").min()) > 29_000
    assert float(values_of("near_minus_1e30").max()) == pytest.approx(-1e30)
    assert values_of("n500000").shape == (1, 500_000)
    assert values_of("n1048576").shape == (1, 1 << 20)


def test_a_row_with_nan_is_nan_throughout():
    for name in ("nan_in_the_first_block", "nan_in_the_last_block", "nan_beside_inf", "plus_inf"):
        (y,) = ONLINE.drill.oracle(values_of(name))
        assert y.isnan().all(1).tolist() == [False, True]


@pytest.mark.parametrize("name", ["n1048575", "many_elements"])
def test_real_sizes_wait_for_a_gpu(name: str):
    case = ONLINE.case_named(name)
    assert case.skip_reason(Lane.INTERPRETER) is not None
    assert case.skip_reason(Lane.GPU, device_gb=139) is None


def test_the_largest_matrix_takes_little_memory():
    x = ONLINE.case_named("many_elements").make(Draw(torch.Generator().manual_seed(1), interpreter=False)).inputs[0]
    assert x.layout.view_numel > 2**31
    assert x.values.untyped_storage().nbytes() < 1 << 22


def test_speed_is_measured_at_the_shapes_of_the_statement():
    assert [(shape.rows, shape.columns) for shape in ONLINE.drill.shapes] == [
        (512, 131_072),
        (256, 262_144),
        (8, 1 << 20),
        (1, 500_000),
    ]
