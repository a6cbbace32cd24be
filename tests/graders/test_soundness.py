"""The self-test of tolerances: sound ones have no finding, and each kind of unsound one has its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from graders.inputs import destination, strided
from graders.memory import Call, Destination, Layout
from graders.soundness import LARGEST, check_tolerance, trials
from graders.tolerance import OneRounding, OneRoundingAndAbsolute, Policy
from graders.validation import FindingCode

Oracle = Callable[..., tuple[torch.Tensor, ...]]


def softmax(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    e = (x.double() - x.double().amax(1, keepdim=True)).exp()
    return (e / e.sum(1, keepdim=True),)


def row_sum(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (x.double().sum(1, keepdim=True),)


def twice(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (x.double() * 2,)


def identity(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (x.double(),)


def calls(*shapes: tuple[int, int], dtype: torch.dtype = torch.float32) -> list[Call]:
    operands = [strided(torch.full(shape, torch.inf, dtype=dtype)) for shape in shapes]
    return [Call((x,), (destination(x),)) for x in operands]


def codes(calls: list[Call], oracle: Oracle, policy: Policy) -> set[FindingCode]:
    return {finding.code for finding in check_tolerance(trials(calls, oracle), oracle, policy)}


SHAPES = ((2, 2), (4, 8), (3, 781), (2, 16384))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("oracle", [softmax, twice, identity])
def test_one_rounding_is_sound(oracle: Oracle, dtype: torch.dtype):
    assert codes(calls(*SHAPES, dtype=dtype), oracle, OneRounding(2e-5)) == set()


def test_a_fixed_absolute_tolerance_is_found_out():
    policy = OneRoundingAndAbsolute(2e-5, 1e-4)
    (finding,) = check_tolerance(trials(calls((3, 50), (3, 5000)), softmax), softmax, policy)
    assert finding.code is FindingCode.PASSES_ONE_ELEMENT_OFF
    assert finding.params == {"dtype": "float32", "shapes": "3×5000"}


def test_zeros_and_constants_pass_what_is_larger_than_the_values():
    found = codes(calls((3, 5000)), softmax, OneRoundingAndAbsolute(2e-5, 0.1))
    assert {FindingCode.PASSES_ZEROS, FindingCode.PASSES_CONSTANT, FindingCode.PASSES_ROWS_SWAPPED} <= found


def test_the_input_itself_passes_a_tolerance_of_the_size_of_the_task():
    def a_hundredth_more(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x.double() * 1.01,)

    assert codes(calls((4, 8)), a_hundredth_more, OneRounding(0.02)) == {FindingCode.PASSES_INPUT}


def test_copying_is_right_where_the_oracle_copies():
    assert FindingCode.PASSES_INPUT not in codes(calls((4, 8)), identity, OneRounding(1e-6))


def test_a_tolerance_below_rounding_refuses_right_answers():
    found = codes(calls((3, 781)), softmax, OneRounding(1e-9))
    assert found == {FindingCode.REFUSES_ROUNDED, FindingCode.REFUSES_OTHER_ORDER}


def test_a_sum_that_cancels_needs_an_absolute_part():
    x = strided(torch.ones(64, 4096))
    call = Call((x,), (Destination(torch.float32, Layout.of((64, 1), (1, 1))),))
    assert codes([call], row_sum, OneRounding(1e-6)) == {FindingCode.REFUSES_OTHER_ORDER}
    assert codes([call], row_sum, OneRoundingAndAbsolute(1e-6, 1e-4)) == set()


@pytest.mark.parametrize(
    "total",
    [
        lambda x: x.sum(1, keepdim=True),
        lambda x: x.abs().sum((0, 1)).expand(len(x)),
        lambda x: x.mean(-1, keepdim=True),
        lambda x: x.norm(dim=-1, keepdim=True),
        lambda x: (x / 7).mean().expand(len(x)),
        lambda x: x.abs().sum().expand(len(x)),
    ],
    ids=["sum", "sum of two", "mean", "norm", "mean of all", "sum of all"],
)
def test_the_other_order_is_another_than_torchs(total: Callable[[torch.Tensor], torch.Tensor]):
    """Whoever allows no more than torch's own float32 sums are off by refuses sums in another order."""

    def oracle(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (total(x.double()),)

    class AsFarAsTorch:
        relative = 0.0

        def bound(self, expected: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
            off = (total(tried[0].inputs[0]).double() - expected).abs()
            return torch.maximum(off, expected.abs() * torch.finfo(dtype).eps / 2)

    tried = trials(calls((64, 4096)), oracle)
    codes = {finding.code for finding in check_tolerance(tried, oracle, AsFarAsTorch())}
    assert FindingCode.REFUSES_OTHER_ORDER in codes
    assert FindingCode.REFUSES_ROUNDED not in codes


def test_a_bound_that_does_not_bind_is_found_out():
    class Anything:
        relative = 1.0

        def bound(self, expected: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
            return torch.full_like(expected, torch.inf)

    wrong = {code for code in FindingCode if code.startswith("passes_")}
    assert codes(calls((4, 8)), twice, Anything()) == wrong


def test_shapes_of_one_kind_are_told_together():
    sizes = ((2, 2), (2, 3), (2, 4), (2, 5), (2, 6), (2, 7))
    found = check_tolerance(trials(calls(*sizes), twice), twice, OneRoundingAndAbsolute(2e-5, 100.0))
    zeros = next(finding for finding in found if finding.code is FindingCode.PASSES_ZEROS)
    assert zeros.params["shapes"] == "2×2, 2×3, 2×4, 2×5 (+2)"


def test_rows_columns_and_a_size_are_needed_to_try():
    untried = [*calls((1, 100), (100, 1)), *calls((2, LARGEST))]
    (finding,) = check_tolerance(trials(untried, twice), twice, OneRounding(2e-5))
    assert finding.code is FindingCode.TOLERANCE_NOT_TESTED


def test_calls_of_one_shape_are_tried_once():
    assert len(trials(calls((4, 8), (4, 8), (4, 9)), twice)) == 2


def test_an_oracle_without_a_float32_form_is_tried_as_far_as_it_goes():
    def by_bits(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x.double().view(torch.int64).view(torch.float64) * 1.0,)

    assert codes(calls((4, 7)), by_bits, OneRounding(2e-5)) == set()
