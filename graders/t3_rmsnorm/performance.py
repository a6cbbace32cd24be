"""The shapes whose speed is measured: the heads of an attention, the widths of models, rows beyond a block, a view.

Every call moves a quarter of a gigabyte or more: several times the L2 cache, and some 60 µs at the least on an H200.
"""

from __future__ import annotations

import math

import torch

from graders import timed
from graders.timed import TimedShape

FP32, BF16 = torch.float32, torch.bfloat16


def rowwise(name: str, rows: int, columns: int, dtype: torch.dtype, *, row_stride: int | None = None) -> TimedShape:
    """With a weight, and around 0: there one large element of a row is a hundredth or more of its mean square."""
    least = max(3.0, 0.15 * math.sqrt(columns))
    peak = (least, 2 * least)
    return timed.rowwise(name, rows, columns, dtype, row_stride=row_stride, vectors=1, means=(0.0,), peak=peak)


SHAPES = (
    rowwise("524288x128_bf16", 524288, 128, BF16),
    rowwise("131072x1024_bf16", 131072, 1024, BF16),
    rowwise("32768x1024_fp32", 32768, 1024, FP32),
    rowwise("32768x2048_bf16", 32768, 2048, BF16),
    rowwise("32768x4096_bf16", 32768, 4096, BF16),
    rowwise("16384x4096_fp32", 16384, 4096, FP32),
    rowwise("16384x7168_bf16", 16384, 7168, BF16),
    rowwise("8192x16384_bf16", 8192, 16384, BF16),
    rowwise("1024x131072_fp32", 1024, 131072, FP32),
    rowwise("16384x4096_of_6144_bf16", 16384, 4096, BF16, row_stride=6144),
)
