"""The shapes whose speed is measured: from enough rows for every multiprocessor to a single one."""

from __future__ import annotations

import torch

from graders.timed import rowwise

FP32 = torch.float32

SHAPES = (
    rowwise("512x131072_fp32", 512, 131_072, FP32),
    rowwise("256x262144_fp32", 256, 262_144, FP32),
    rowwise("8x1048576_fp32", 8, 1 << 20, FP32),
    rowwise("1x500000_fp32", 1, 500_000, FP32),
)
