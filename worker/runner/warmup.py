"""A trivial kernel, run once before the submission comes, so that first-use costs are paid on standby."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def _copy(source, target, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    columns = tl.arange(0, BLOCK)
    values = tl.load(source + columns, mask=columns < count, other=0.0)
    tl.store(target + columns, values + tl.sum(values, axis=0), mask=columns < count)


def launch(device: torch.device) -> Any:
    """Launch the kernel (in a compile pass: compile it) on eight elements."""
    source = torch.zeros(8, device=device)
    return _copy[(1,)](source, torch.empty_like(source), 8, BLOCK=8)
