"""How far an output may be from the oracle's: named policies, each with the reason why right kernels meet it.

A fixed absolute tolerance is for results that cancel, such as sums over both signs, and for nothing else: softmax
values are about 1/N, so that at large N an output of zeros would pass any. A drill's policy is itself tested, in
``graders.soundness``: known-wrong answers must fail it, right ones with other orders of summation must pass it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import torch

from graders.manifest import Tolerance

EXPONENT_BITS = 0x7FF0_0000_0000_0000
"""Of a float64."""


@dataclass(frozen=True)
class Terms:
    """A bound ``relative·|y| + ulps·ulp(y) + absolute`` on the error of an element that should be ``y``."""

    relative: float
    ulps: float
    absolute: float


@dataclass(frozen=True)
class Policy(ABC):
    """How far an element may be off; ``relative`` is the part that grows with it."""

    relative: float

    @abstractmethod
    def terms(self, dtype: torch.dtype) -> Terms:
        """The bound for outputs of ``dtype``."""

    def bound(self, expected: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """The largest allowed ``|output - expected|``: float64, expected's shape.

        ``expected`` is the oracle's float64 output and ``dtype`` the output's. The bound of an element that is
        not finite has no meaning: such elements are compared exactly.
        """
        terms = self.terms(dtype)
        bound = expected.abs().mul_(terms.relative)
        if terms.ulps:
            bound.add_(ulp(expected, dtype), alpha=terms.ulps)
        return bound.add_(terms.absolute) if terms.absolute else bound

    def times(self, factor: float) -> Self:
        """The same policy, ``relative`` times ``factor``."""
        return replace(self, relative=self.relative * factor)


@dataclass(frozen=True)
class OneRounding(Policy):
    """Right to ``relative`` before one rounding to the output's dtype.

    ``relative·|y| + tiny``, and for 16-bit types ``ulp(y)/2`` besides, since a right kernel computes in float32 and
    rounds once; the ulp is never below the subnormal step. ``tiny`` is the smallest normal number of what a kernel
    computes in, float32 or wider: a GPU may flush what is below to zero, which bfloat16 could still hold.
    """

    def terms(self, dtype: torch.dtype) -> Terms:
        tiny = torch.finfo(torch.promote_types(dtype, torch.float32)).tiny
        return Terms(self.relative, 0.5 if dtype.itemsize < 4 else 0.0, tiny)


@dataclass(frozen=True)
class OneRoundingAndAbsolute(Policy):
    """``OneRounding``, and ``absolute`` besides."""

    absolute: float

    def terms(self, dtype: torch.dtype) -> Terms:
        one = OneRounding(self.relative).terms(dtype)
        return replace(one, absolute=one.absolute + self.absolute)


def ulp(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The spacing of ``dtype``'s numbers at float64 ``values``, at least the subnormal step: float64, their shape."""
    info = torch.finfo(dtype)
    power = (values.contiguous().view(torch.int64) & EXPONENT_BITS).view(torch.float64)  # 2^floor(log2 |value|)
    return power.clamp_(min=info.tiny).mul_(info.eps)


def policy_for(tolerance: Tolerance) -> Policy:
    """The policy that a manifest names."""
    if tolerance.absolute is not None:
        return OneRoundingAndAbsolute(tolerance.relative, tolerance.absolute)
    return OneRounding(tolerance.relative)
