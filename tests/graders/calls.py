"""Calls placed in memory as a judge does it, without a judge."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, replace

import torch

from graders.cases import Case
from graders.memory import Call, Draw

MARGIN = 64


@dataclass(frozen=True)
class Placed:
    """A call whose tensors lie in storages of their own; outputs hold NaN."""

    call: Call
    inputs: tuple[torch.Tensor, ...]
    outs: tuple[torch.Tensor, ...]
    out_storages: tuple[torch.Tensor, ...]


def drawn(case: Case, seed: int = 1) -> Call:
    """The call of a case as the interpreter lane draws it."""
    return case.make(Draw(torch.Generator().manual_seed(seed), interpreter=True))


def placed(call: Call) -> Placed:
    storages = tuple(sparse(operand.layout.numel, operand.values.dtype) for operand in call.inputs)
    out_storages = tuple(sparse(out.layout.numel, out.dtype) for out in call.outs)
    inputs = tuple(operand.place(storage) for operand, storage in zip(call.inputs, storages, strict=True))
    for out, storage in zip(call.outs, out_storages, strict=True):
        (out.layout.view(storage) if out.layout.sparse else storage).fill_(torch.nan)
    outs = tuple(out.layout.view(storage) for out, storage in zip(call.outs, out_storages, strict=True))
    pristine = tuple(storage if storage.numel() > 1 << 27 else storage.clone() for storage in storages)
    return Placed(replace(call, storages=pristine), inputs, outs, out_storages)


def sparse(numel: int, dtype: torch.dtype) -> torch.Tensor:
    """Zeros that take no memory until they are written, a slice of something larger."""
    nbytes = (numel + 2 * MARGIN) * dtype.itemsize
    descriptor = os.memfd_create("storage")
    os.ftruncate(descriptor, nbytes)
    mapped = mmap.mmap(descriptor, nbytes)
    os.close(descriptor)
    return torch.frombuffer(mapped, dtype=dtype)[MARGIN : MARGIN + numel]
