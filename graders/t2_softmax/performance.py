"""The shapes whose speed is measured: from short rows to rows that no single program holds, and a view."""

from __future__ import annotations

import torch

from graders.timed import rowwise

FP32, BF16 = torch.float32, torch.bfloat16

SHAPES = (
    rowwise("131072x256_bf16", 131072, 256, BF16),
    rowwise("67108x1000_fp32", 67108, 1000, FP32),
    rowwise("32768x1024_fp32", 32768, 1024, FP32),
    rowwise("16384x4096_fp32", 16384, 4096, FP32),
    rowwise("8065x8320_fp32", 8065, 8320, FP32),
    rowwise("4096x16384_fp32", 4096, 16384, FP32),
    rowwise("1335x50257_fp32", 1335, 50257, FP32),
    rowwise("512x131072_fp32", 512, 131072, FP32),
    rowwise("16384x8192_bf16", 16384, 8192, BF16),
    rowwise("65536x1000_of_4096_fp32", 65536, 1000, FP32, row_stride=4096),
)
