"""``python -m tests.graders.screened``: what one kernel says of an output beside what ``compare`` says, interpreted.

JSON. A process of its own, because ``TRITON_INTERPRET=1`` has to be there before Triton is imported.
"""

from __future__ import annotations

import json
import sys

import torch

from graders.compare import compare
from graders.compare_kernel import anything_wrong
from graders.diagnosis import _AsModelled
from graders.tolerance import OneRounding, OneRoundingAndAbsolute, Policy
from tests.reference.counted import answers

POLICIES: dict[str, Policy] = {
    "one": OneRounding(2e-5),
    "and absolute": OneRoundingAndAbsolute(2e-5, 1e-4),
    "as modelled": _AsModelled(),
}
SHAPES = ((6, 300), (2, 5000), (1, 1))
NAN, INF = float("nan"), float("inf")
PLACES = (0, -1)
PAIRS = ((NAN, NAN), (NAN, 0.0), (0.0, NAN), (INF, INF), (-INF, INF), (INF, 1.0), (1.0, INF))
"""What is put out, and what should be."""


def outputs(dtype: torch.dtype, device: str = "cpu") -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Right and wrong ones by name, each with the oracle's."""
    made: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
    drawn = torch.Generator(device).manual_seed(4)
    for rows, columns in SHAPES:
        x = torch.randn(rows, columns, generator=drawn, dtype=torch.float64, device=device)
        right = torch.softmax(3 * x, -1)
        if rows > 1:
            made |= {f"{rows}×{columns} {name}": (got, right) for name, got in answers(right, dtype).items()}
        for place in PLACES:
            for put_out, wanted in PAIRS:
                got, expected = right.to(dtype), right.clone()
                got[-1, place], expected[-1, place] = put_out, wanted
                made[f"{rows}×{columns} {put_out} for {wanted} at {place}"] = got, expected
    return made


def screened(dtype: torch.dtype, device: str = "cpu") -> dict[str, tuple[bool, bool]]:
    """By output and policy: whether the kernel finds something wrong, and whether ``compare`` does on the host."""
    return {
        f"{dtype} {name}, {kind}": (
            anything_wrong(got, expected, policy),
            compare(got.cpu(), expected.cpu(), policy) is not None,
        )
        for name, (got, expected) in outputs(dtype, device).items()
        for kind, policy in POLICIES.items()
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    json.dump(
        {name: pair for dtype in (torch.float32, torch.float16) for name, pair in screened(dtype).items()}, sys.stdout
    )
