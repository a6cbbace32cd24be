"""The shapes whose speed is measured, on a GPU."""

from __future__ import annotations

import torch

from graders.timed import rowwise

SHAPES = (
    rowwise("65536x1000_fp32", 65536, 1000, torch.float32),
    rowwise("16384x4096_fp32", 16384, 4096, torch.float32),
    rowwise("16384x8192_bf16", 16384, 8192, torch.bfloat16),
)
