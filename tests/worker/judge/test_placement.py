from __future__ import annotations

import mmap
import os

import pytest
import torch

from graders.inputs import GUARD, destination, strided
from graders.memory import Call, Decoy, Destination, Layout, Operand
from worker.judge.arena import HostArena
from worker.judge.placement import Placement, Plan

NAMES = ["x", "out"]


class Placed:
    """A call placed for real, with the tensors that a runner would see."""

    def __init__(self, call: Call, seed: int = 0) -> None:
        self.plan = Plan(call, NAMES)
        self.arena = HostArena(self.plan.nbytes)
        self.placement = Placement(self.arena, self.plan, call, torch.Generator().manual_seed(seed))
        views = self.plan.views()
        self.x, self.out = (self._tensor(view) for view in (*views["inputs"], *views["outs"]))

    def _tensor(self, view: dict[str, object]) -> torch.Tensor:
        flat = self.arena.flat(view["offset"], view["numel"], getattr(torch, view["dtype"]))
        return flat.as_strided(view["shape"], view["strides"], view["lead"])

    def bytes(self) -> torch.Tensor:
        return self.arena.flat(0, self.arena.nbytes, torch.uint8)


def call(dtype: torch.dtype = torch.float32, out_stride: int | None = None) -> Call:
    x = strided(torch.arange(12, dtype=dtype).reshape(3, 4), row_stride=9, offset=2)
    return Call((x,), (destination(x, row_stride=out_stride),))


def test_the_runner_sees_the_values_and_poison_around_them() -> None:
    placed = Placed(call())
    assert torch.equal(placed.x, torch.arange(12.0).reshape(3, 4))
    assert placed.x.stride() == (9, 1)
    assert placed.out.isnan().all()
    assert placed.x.as_strided((1,), (1,), placed.x.storage_offset() - 1).isnan().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_call_that_wrote_everything_shows_nothing_else(dtype: torch.dtype) -> None:
    placed = Placed(call(dtype, out_stride=7))
    placed.out.copy_(placed.x * 2)
    collected = placed.placement.collect()
    assert torch.equal(collected.outs[0], placed.x * 2)
    assert not collected.unwritten[0].any()
    assert collected.outside is None
    assert collected.changed is None


def test_elements_that_were_not_written_are_known_one_by_one() -> None:
    placed = Placed(call())
    placed.out[:2] = 1
    assert placed.placement.collect().unwritten[0].tolist() == [[False] * 4, [False] * 4, [True] * 4]


def test_a_nan_that_was_computed_counts_as_written() -> None:
    placed = Placed(call())
    placed.out.fill_(float("nan"))
    assert not placed.placement.collect().unwritten[0].any()


def test_the_poison_differs_from_call_to_call() -> None:
    first, second = Placed(call(), seed=1), Placed(call(), seed=2)
    assert not torch.equal(first.out.view(torch.int32), second.out.view(torch.int32))


@pytest.mark.parametrize("offset", [-GUARD, -1, 4, 16, 15 + GUARD])
def test_a_write_beside_the_output_is_found_with_its_offset(offset: int) -> None:
    placed = Placed(call(out_stride=6))
    placed.out.copy_(placed.x)
    placed.out.as_strided((1,), (1,), placed.out.storage_offset() + offset).fill_(3)
    outside = placed.placement.collect().outside
    assert outside is not None
    assert (outside.tensor, outside.offset) == ("out", offset)


def test_a_write_between_the_rows_of_the_input_is_outside_too() -> None:
    placed = Placed(call())
    placed.out.copy_(placed.x)
    placed.x.as_strided((1,), (1,), placed.x.storage_offset() + 5).fill_(3)
    collected = placed.placement.collect()
    assert collected.outside is not None
    assert (collected.outside.tensor, collected.outside.offset) == ("x", 5)
    assert collected.changed is None


def test_a_write_far_from_every_tensor_is_found() -> None:
    placed = Placed(call())
    placed.out.copy_(placed.x)
    placed.bytes()[17] = 1
    assert placed.placement.collect().outside is not None


def test_the_first_input_element_that_changed_is_named() -> None:
    placed = Placed(call())
    placed.out.copy_(placed.x)
    placed.x[1, 2] = -1
    placed.x[2, 0] = -1
    collected = placed.placement.collect()
    assert collected.changed is not None
    assert collected.changed.index == (1, 2)
    assert collected.outside is None


def test_negative_zero_for_zero_is_a_change() -> None:
    placed = Placed(call())
    placed.x[0, 0] = -0.0
    assert placed.placement.collect().changed is not None


def test_outputs_are_private_copies() -> None:
    placed = Placed(call())
    placed.out.fill_(1)
    collected = placed.placement.collect()
    placed.out.fill_(2)
    assert (collected.outs[0] == 1).all()


ROW_STRIDE = (1 << 30) + 16


def far_call() -> Call:
    """Three rows gigabytes apart, and a decoy where a wrapped 32-bit offset lands."""
    values = torch.arange(12, dtype=torch.float16).reshape(3, 4)
    lead = 1 << 31
    layout = Layout.of((3, 4), (ROW_STRIDE, 1), lead, GUARD)
    wrapped = 2 * ROW_STRIDE - (1 << 32)
    x = Operand(values, layout, decoys=(Decoy(wrapped, torch.full((4,), 7.0, dtype=torch.float16)),))
    return Call((x,), (Destination(torch.float16, Layout.of((3, 4), (ROW_STRIDE, 1), GUARD, GUARD)),))


def test_a_sparse_call_costs_little_and_is_checked_all_the_same() -> None:
    placed = Placed(far_call())
    assert placed.arena.nbytes > 8 << 30
    assert sum(end - start for start, end in placed.arena.touched()) < 1 << 20
    placed.out.copy_(placed.x)
    collected = placed.placement.collect()
    assert torch.equal(collected.outs[0], torch.arange(12, dtype=torch.float16).reshape(3, 4))
    assert collected.outside is None
    assert collected.changed is None


def test_models_can_read_the_decoy_of_a_sparse_input() -> None:
    placed = Placed(far_call())
    wrapped = 2 * ROW_STRIDE - (1 << 32)
    assert placed.placement.call.gather(0, wrapped + torch.arange(4)).tolist() == [7.0] * 4


def test_a_stray_write_into_a_hole_is_found() -> None:
    placed = Placed(far_call())
    placed.out.copy_(placed.x)
    placed.out.as_strided((1,), (1,), placed.out.storage_offset() + 123_456_789).fill_(5)
    outside = placed.placement.collect().outside
    assert outside is not None
    assert (outside.tensor, outside.offset) == ("out", 123_456_789)


def test_reading_a_hole_is_no_offence() -> None:
    placed = Placed(far_call())
    placed.out.copy_(placed.x)
    assert placed.x.as_strided((1,), (1,), placed.x.storage_offset() + 5_000_000).item() == 0
    assert placed.placement.collect().outside is None


def test_neither_side_can_resize_the_arena() -> None:
    arena = HostArena(100)
    assert arena.nbytes == mmap.PAGESIZE
    for size in (0, 10 * mmap.PAGESIZE):
        with pytest.raises(PermissionError):
            os.ftruncate(arena.descriptor, size)
