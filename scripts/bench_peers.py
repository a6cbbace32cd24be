"""The softmaxes that ours is held against, each as a function of x and out. What cannot be imported is absent."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl
from bench_points import Softmax

PACKAGES = {"Liger": "liger_kernel", "quack": "quack", "FlagGems": "flag_gems"}
NAMES = ("torch", "compile", "textbook", *PACKAGES)
LONGEST_TEXTBOOK_ROW = 65536
"""Longer rows take it minutes to compile and half a second to compute."""


@triton.jit
def _textbook(x_ptr, out_ptr, x_row_stride, out_row_stride, columns, BLOCK: tl.constexpr):  # noqa: N803
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_row_stride + column, mask=column < columns, other=-float("inf")).to(tl.float32)
    weight = tl.exp(x - tl.max(x, axis=0))
    y = weight / tl.sum(weight, axis=0)
    tl.store(out_ptr + row * out_row_stride + column, y.to(out_ptr.dtype.element_ty), mask=column < columns)


def textbook(x: torch.Tensor, out: torch.Tensor) -> None:
    """One program a row, the row one block: what tutorials have."""
    rows, columns = x.shape
    if columns > LONGEST_TEXTBOOK_ROW:
        raise ValueError("too long")
    block = triton.next_power_of_2(columns)
    warps = 4 if block <= 2048 else 8 if block <= 8192 else 16
    _textbook[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=block, num_warps=warps)


def copy(x: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(x)


def eager(x: torch.Tensor, out: torch.Tensor) -> None:
    torch.softmax(x, 1, out=out)


def compiled() -> Softmax:
    """torch.compile of this process: it meets one shape only."""
    function: Callable[[torch.Tensor], torch.Tensor] = torch.compile(lambda x: torch.softmax(x, 1), dynamic=False)
    return lambda x, _out: function(x)


def _module(name: str) -> Any:
    return importlib.import_module(name)


def liger() -> Softmax:
    function = _module("liger_kernel.ops.softmax").LigerSoftmaxFunction
    return lambda x, _out: function.apply(x)


def quack() -> Softmax:
    function = _module("quack.softmax").softmax
    return lambda x, _out: function(x)


def flag_gems() -> Softmax:
    function = _module("flag_gems").softmax
    return lambda x, _out: function(x, 1)


MAKERS: dict[str, Callable[[], Softmax]] = {
    "copy": lambda: copy,
    "torch": lambda: eager,
    "compile": compiled,
    "textbook": lambda: textbook,
    "Liger": liger,
    "quack": quack,
    "FlagGems": flag_gems,
}
