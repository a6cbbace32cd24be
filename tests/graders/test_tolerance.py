"""The policy is tested as a grader is: known-wrong answers fail it, right ones of different make pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from pydantic import ValidationError

from graders.compare import compare
from graders.manifest import Tolerance
from graders.tolerance import OneRounding, OneRoundingAndAbsolute, policy_for, ulp

POLICY = OneRounding(2e-5)
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
SHAPES = ((4, 8), (3, 781), (2, 16384), (1, 100003))


def stored(shape: tuple[int, int], dtype: torch.dtype, std: float = 1.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(shape[1])
    return (torch.randn(shape, generator=generator, dtype=torch.float64) * std).to(dtype)


def oracle(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.double(), -1)


def passes(y: torch.Tensor, x: torch.Tensor) -> bool:
    return compare(y.to(x.dtype), oracle(x), POLICY) is None


# Right float32 arithmetic, summed in different orders


def at_once(x: torch.Tensor) -> torch.Tensor:
    e = (x.float() - x.float().amax(1, keepdim=True)).exp()
    return e / e.sum(1, keepdim=True)


def one_after_the_other(x: torch.Tensor) -> torch.Tensor:
    e = (x.float() - x.float().amax(1, keepdim=True)).exp()
    return e / e.cumsum(1)[:, -1:]


def backwards_in_pieces(x: torch.Tensor) -> torch.Tensor:
    e = (x.float() - x.float().amax(1, keepdim=True)).exp()
    total = torch.zeros(len(x), 1)
    for piece in reversed(e.split(64, dim=1)):
        total += piece.sum(1, keepdim=True)
    return e * (1 / total)


def online(x: torch.Tensor) -> torch.Tensor:
    peak, total = torch.full((len(x), 1), -torch.inf), torch.zeros(len(x), 1)
    for piece in x.float().split(100, dim=1):
        higher = torch.maximum(peak, piece.amax(1, keepdim=True))
        total = total * (peak - higher).exp() + (piece - higher).exp().sum(1, keepdim=True)
        peak = higher
    return (x.float() - peak).exp() / total


def by_exp2(x: torch.Tensor) -> torch.Tensor:
    e = torch.exp2((x.float() - x.float().amax(1, keepdim=True)) * 1.4426950408889634)
    return e / e.sum(1, keepdim=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", [at_once, one_after_the_other, backwards_in_pieces, online, by_exp2])
def test_right_arithmetic_passes(
    kernel: Callable[[torch.Tensor], torch.Tensor], shape: tuple[int, int], dtype: torch.dtype
):
    for std in (1.0, 15.0):
        x = stored(shape, dtype, std)
        assert passes(kernel(x), x)


# Known-wrong answers


def zeros(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x)


def constant(x: torch.Tensor) -> torch.Tensor:
    return torch.full_like(x, 1 / x.shape[1])


def padded_with_zero(x: torch.Tensor) -> torch.Tensor:
    return at_once(torch.nn.functional.pad(x, (0, 1 << (x.shape[1].bit_length() - 4))))[:, : x.shape[1]]


def tail_left_at_zero(x: torch.Tensor) -> torch.Tensor:
    y = at_once(x)
    y[:, -1] = 0
    return y


def a_thousandth_off(x: torch.Tensor) -> torch.Tensor:
    return at_once(x) * 1.001


def nan_anywhere(x: torch.Tensor) -> torch.Tensor:
    y = at_once(x)
    y[-1, x.shape[1] // 2] = torch.nan
    return y


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 8), (3, 781), (2, 4097)])
@pytest.mark.parametrize("wrong", [zeros, constant, padded_with_zero, tail_left_at_zero, nan_anywhere])
def test_wrong_answers_fail(wrong: Callable[[torch.Tensor], torch.Tensor], shape: tuple[int, int], dtype: torch.dtype):
    x = stored(shape, dtype)
    assert not passes(wrong(x), x)


@pytest.mark.parametrize("wrong", [zeros, constant, padded_with_zero, tail_left_at_zero, a_thousandth_off])
def test_wrong_answers_fail_at_100003_columns(wrong: Callable[[torch.Tensor], torch.Tensor]):
    x = stored((1, 100003), torch.float32)
    assert not passes(wrong(x), x)


@pytest.mark.parametrize("columns", [8, 300, 1000, 4097])
def test_exp_kept_in_float16_fails(columns: int):
    x = stored((4, columns), torch.float16)
    e = (x.float() - x.float().amax(1, keepdim=True)).exp().half().float()
    assert not passes(e / e.sum(1, keepdim=True), x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("columns", [8, 1000, 16384])
def test_one_ulp_off_fails_in_16_bits(columns: int, dtype: torch.dtype):
    x = stored((2, columns), dtype)
    bits = oracle(x).to(dtype).view(torch.int16)
    assert passes(bits.view(dtype), x)
    assert not passes((bits + 1).view(dtype), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_results_below_the_smallest_normal_float32_may_be_flushed(dtype: torch.dtype):
    expected = torch.tensor([[1.0, 1e-39, 0.0]], dtype=torch.float64)
    assert compare(torch.tensor([[1.0, 0.0, 0.0]], dtype=dtype), expected, POLICY) is None
    assert compare(torch.tensor([[1.0, 0.0, 2e-38]], dtype=dtype), expected, POLICY) is not None


@pytest.mark.parametrize("dtype", DTYPES)
def test_ulp_is_the_distance_to_the_next_number(dtype: torch.dtype):
    info = torch.finfo(dtype)
    values = torch.tensor([0.0, info.tiny / 4, info.tiny, 1.0, 1.5, 0.3, -1000.0], dtype=dtype)
    above = torch.nextafter(values.abs(), torch.full_like(values, torch.inf))
    step = above.double() - values.abs().double()
    assert torch.equal(ulp(values.double(), dtype), step)


def test_an_absolute_part_is_added_to_the_bound():
    y = torch.tensor([0.0, 1e-6, 100.0], dtype=torch.float64)
    both = OneRoundingAndAbsolute(2e-5, 1e-4)
    assert torch.equal(both.bound(y, torch.float32), POLICY.bound(y, torch.float32) + 1e-4)


def test_policies_go_by_name():
    assert policy_for(Tolerance(policy="one_rounding", relative=1e-4, reason="r")) == OneRounding(1e-4)
    both = Tolerance(policy="one_rounding_and_absolute", relative=1e-4, absolute=1e-6, reason="r")
    assert policy_for(both) == OneRoundingAndAbsolute(1e-4, 1e-6)


@pytest.mark.parametrize(
    "table",
    [
        {"policy": "close"},
        {"policy": "one_rounding", "absolute": 1e-6},
        {"policy": "one_rounding_and_absolute"},
        {"policy": "one_rounding", "relative": 1.5},
    ],
)
def test_a_tolerance_that_says_nothing_is_refused(table: dict[str, object]):
    with pytest.raises(ValidationError):
        Tolerance.model_validate({"relative": 1e-4, "reason": "r"} | table)
