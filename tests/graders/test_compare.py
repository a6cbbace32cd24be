"""What compare says of outputs: right, or which elements are wrong and what they look like together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from graders import compare as module
from graders.compare import Pattern, compare
from graders.report import Mismatch
from graders.tolerance import OneRounding

POLICY = OneRounding(2e-5)
NAN, INF = float("nan"), float("inf")


def right(rows: int = 6, columns: int = 100) -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.softmax(torch.randn(rows, columns, generator=generator, dtype=torch.float64), -1)


def wrong(change: Callable[[torch.Tensor], object], expected: torch.Tensor | None = None) -> Mismatch:
    expected = right() if expected is None else expected
    got = expected.float()
    change(got)
    found = compare(got, expected, POLICY)
    assert found is not None
    return found


def test_a_right_output_has_no_mismatch():
    assert compare(right().float(), right(), POLICY) is None


def test_an_empty_output_has_no_mismatch():
    for shape in ((0, 7), (7, 0)):
        assert compare(torch.empty(shape), torch.empty(shape, dtype=torch.float64), POLICY) is None


def test_the_error_that_the_first_wrong_element_may_have_is_told():
    found = wrong(lambda got: got[2, 7].fill_(0.25))
    assert found.first is not None
    assert found.first.allowed == pytest.approx(2e-5 * float(right()[2, 7]))
    sixteen = compare(torch.tensor([[1.0, 1.25]], dtype=torch.float16), torch.ones(1, 2, dtype=torch.float64), POLICY)
    assert sixteen is not None
    assert sixteen.first is not None
    assert sixteen.first.allowed == pytest.approx(2e-5 + 2.0**-11)


@pytest.mark.parametrize("value", [NAN, INF])
def test_an_element_that_must_be_exactly_that_may_have_no_error(value: float):
    expected = torch.full((1, 2), value, dtype=torch.float64)
    found = wrong(lambda got: got.fill_(1.0), expected)
    assert found.first is not None
    assert found.first.allowed is None


def test_the_first_wrong_element_is_named_with_both_values():
    def change(y: torch.Tensor) -> None:
        y[2, 7], y[4, 1] = 0.25, 0.5

    found = wrong(change)
    assert (found.count, found.total) == (2, 600)
    assert found.first is not None
    assert found.first.index == [2, 7]
    assert found.first.got == "0.25"
    assert float(found.first.expected) == pytest.approx(float(right()[2, 7]), rel=1e-8)
    assert found.max_abs == pytest.approx(float((0.5 - right()[4, 1]).abs()), rel=1e-6)
    assert found.max_ulp is not None
    assert found.max_ulp > 1e4
    errors = [float((0.25 - right()[2, 7]).abs()), float((0.5 - right()[4, 1]).abs())]
    assert found.mean_abs == pytest.approx(sum(errors) / 2, rel=1e-6)
    assert [(element.index, element.got) for element in found.more] == [([4, 1], "0.5")]


def test_a_few_wrong_elements_are_told_from_the_first_to_the_last():
    found = wrong(lambda y: y.mul_(2))
    assert found.first is not None
    told = [element.index for element in [found.first, *found.more]]
    rows, columns = right().shape
    assert (len(told), told[0], told[-1]) == (5, [0, 0], [rows - 1, columns - 1])
    assert told == sorted(told)


def test_the_index_has_the_outputs_dimensions():
    expected = torch.zeros(2, 3, 4, dtype=torch.float64)
    got = expected.float()
    got[1, 2, 3] = 1
    found = compare(got, expected, POLICY)
    assert found is not None
    assert found.first is not None
    assert found.first.index == [1, 2, 3]
    scalar = compare(torch.tensor(1.0), torch.tensor(2.0, dtype=torch.float64), POLICY)
    assert scalar is not None
    assert scalar.first is not None
    assert scalar.first.index == []


def test_sixteen_bit_values_are_told_in_few_digits():
    found = compare(torch.tensor([[0.1]], dtype=torch.float16), torch.tensor([[0.2]], dtype=torch.float64), POLICY)
    assert found is not None
    assert found.first is not None
    assert found.first.got == "0.099976"


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_values_that_are_not_finite_have_to_be_met_exactly(value: float):
    expected = right()
    expected[3] = value
    assert compare(expected.float(), expected, POLICY) is None
    for other in (NAN, INF, -INF, 0.0):
        got = expected.float()
        got[3, 5] = other
        assert (compare(got, expected, POLICY) is None) == (str(other) == str(value))


def test_nan_never_passes_for_a_number():
    found = wrong(lambda y: y[0, :1].fill_(NAN))
    assert found.count == 1
    assert found.max_abs is None
    assert found.first is not None
    assert found.first.got == "nan"


PATTERNS: dict[Pattern, Callable[[torch.Tensor], object]] = {
    Pattern.ALL_NAN: lambda y: y.fill_(NAN),
    Pattern.NAN_ROWS: lambda y: y[2:4].fill_(NAN),
    Pattern.NAN_TAIL_COLUMNS: lambda y: y[:, 64:].fill_(NAN),
    Pattern.NAN_ELEMENTS: lambda y: y.view(-1)[::37].fill_(NAN),
    Pattern.INFINITE: lambda y: y[1].fill_(INF),
    Pattern.ALL_ZERO: lambda y: y.zero_(),
    Pattern.CONSTANT_FACTOR_PER_ROW: lambda y: y[1:5].mul_(torch.tensor([[0.5], [0.9], [1.2], [0.99]])),
    Pattern.EVERY_ELEMENT: lambda y: y.add_(torch.rand(y.shape) + 1),
    Pattern.MOST_ELEMENTS: lambda y: y.view(-1)[:-3].add_(torch.rand(597) + 1),
    Pattern.FIRST_ROWS: lambda y: y[:2].add_(torch.rand(2, 100) + 1),
    Pattern.LAST_ROWS: lambda y: y[4:].add_(torch.rand(2, 100) + 1),
    Pattern.ROWS: lambda y: y[1:4:2].add_(torch.rand(2, 100) + 1),
    Pattern.FIRST_COLUMNS: lambda y: y[:, :32].add_(torch.rand(6, 32) + 1),
    Pattern.TAIL_COLUMNS: lambda y: y[:, 64:].add_(torch.rand(6, 36) + 1),
    Pattern.COLUMNS: lambda y: y[:, ::2].add_(torch.rand(6, 50) + 1),
    Pattern.SCATTERED: lambda y: y.view(-1)[::37].add_(torch.rand(17) + 1),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_have_names(pattern: Pattern):
    assert wrong(PATTERNS[pattern]).pattern == f"pattern.{pattern}"


def test_a_missing_nan_has_a_name():
    expected = right()
    expected[2] = NAN
    assert wrong(lambda y: y[2].zero_(), expected).pattern == "pattern.nan_missing"
    assert {*PATTERNS, Pattern.NAN_MISSING} == set(Pattern)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_wrong_divisor_is_seen_through_the_rounding_to_16_bits(dtype: torch.dtype):
    expected = right()
    found = compare((expected * 0.8).to(dtype), expected, POLICY)
    assert found is not None
    assert found.pattern == "pattern.constant_factor_per_row"


def test_blocks_of_rows_say_the_same_as_the_whole(monkeypatch: pytest.MonkeyPatch):
    def change(y: torch.Tensor) -> None:
        y[3:, 50:] += 1

    whole = wrong(change)
    monkeypatch.setattr(module, "BLOCK_NUMEL", 150)
    in_blocks = wrong(change)
    assert in_blocks.mean_abs == pytest.approx(whole.mean_abs, rel=1e-12)
    of_the_block = {"mean_abs": whole.mean_abs, "more": whole.more}
    assert in_blocks.model_copy(update=of_the_block) == whole
    assert whole.pattern == "pattern.tail_columns"


def test_views_with_strides_are_compared_as_they_are():
    expected = right()
    got = torch.full((6, 300), NAN)[:, 7:107]
    got.copy_(expected)
    assert compare(got, expected, POLICY) is None
    assert compare(expected.float().t().contiguous().t(), expected, POLICY) is None


class Counted(TorchDispatchMode):
    """Counts torch's operations."""

    operations = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operations += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("change", [lambda y: None, lambda y: y.fill_(0), lambda y: y[:, 50:].fill_(NAN)])
def test_a_comparison_takes_as_many_operations_whatever_the_size(change: Callable[[torch.Tensor], object]):
    counts = []
    for rows, columns in ((4, 60), (2, 100_003), (610, 781)):
        expected = right(rows, columns)
        got = expected.float()
        change(got)
        with Counted() as counted:
            compare(got, expected, POLICY)
        counts.append(counted.operations)
    assert counts[0] > 0
    assert counts == [counts[0]] * len(counts)
