"""``python -m tests.reference.counted SLUG``: the fused check beside oracle and policy, interpreted, as JSON.

A process of its own, because ``TRITON_INTERPRET=1`` has to be there before Triton is imported.
"""

from __future__ import annotations

import json
import sys

import torch

from graders.compare import compare
from graders.tolerance import OneRounding
from reference import t2_online_softmax, t2_softmax, t3_rmsnorm

POLICY = OneRounding(2e-5)
CHECKS = {"t2_softmax": t2_softmax, "t2_online_softmax": t2_online_softmax, "t3_rmsnorm": t3_rmsnorm}
SHAPES = {
    "t2_softmax": (6, 300),
    "t2_online_softmax": (2, t2_online_softmax.CHECK_PIECE + 300),
    "t3_rmsnorm": (6, 300),
}


def operands(x: torch.Tensor, slug: str) -> tuple[torch.Tensor, ...]:
    """The matrix, and for RMSNorm a weight."""
    if CHECKS[slug] is not t3_rmsnorm:
        return (x,)
    weight = torch.randn(x.shape[1], generator=torch.Generator().manual_seed(2))
    return x, weight.to(x)


def answers(right: torch.Tensor, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Right ones, wrong ones, and ones whose error lies all around the bound."""
    rounded = right.to(dtype)
    bound = right.abs() * POLICY.relative + 1.2e-38
    drawn = torch.Generator(right.device).manual_seed(3)
    spread = torch.rand(right.shape, generator=drawn, dtype=torch.float64, device=right.device)
    around = right + bound * (spread * 4 - 2)
    one_off = rounded.clone()
    one_off[0, -1] *= 1.02
    barely = rounded.clone()
    barely[1] = (right + 1.02 * bound)[1].to(dtype)
    lost = rounded.clone()
    lost[:, 0] = torch.nan
    return {
        "right": rounded,
        "around the bound": around.to(dtype),
        "one element off": one_off,
        "one row barely wrong": barely,
        "NaN": lost,
        "zeros": torch.zeros_like(rounded),
        "of another row": rounded.flip(0),
    }


def counts(x: torch.Tensor, slug: str) -> dict[str, tuple[int, int]]:
    """What the fused check counts in each answer, and what the oracle and the policy count."""
    given = operands(x, slug)
    right = CHECKS[slug].oracle(*given)
    counted = {}
    for name, y in answers(right, x.dtype).items():
        mismatch = compare(y, right, POLICY)
        counted[name] = int(CHECKS[slug].count_wrong(*given, y, POLICY.relative)), mismatch.count if mismatch else 0
    return counted


def inputs(rows: int, columns: int, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Values as a measurement has them, and wilder ones."""
    drawn = torch.Generator().manual_seed(1)
    made = {}
    for mean, deviation in ((0.0, 1.0), (-20.0, 3.0), (5.0, 40.0)):
        x = (torch.randn(rows, columns, generator=drawn) * deviation + mean).to(dtype)
        x[:, columns // 2] = mean + 8 * deviation
        made[f"{dtype} {mean} {deviation}"] = x
    return made


def main(slug: str) -> None:
    torch.set_num_threads(1)
    named = [named for dtype in (torch.float32, torch.float16) for named in inputs(*SHAPES[slug], dtype).items()]
    json.dump({f"{name} {kind}": pair for name, x in named for kind, pair in counts(x, slug).items()}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
