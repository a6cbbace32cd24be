"""The slots of a timed shape, in host memory: what is filled, what changes last, what is taken and checked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from graders.drill import Drill, load_drill
from graders.package import built_in_drills
from graders.timed import TimedShape, rowwise
from worker.judge.arena import HostArena
from worker.judge.timing.calibration import Calibration
from worker.judge.timing.slots import Slots, Values, timed_views

SHAPES = [
    rowwise("contiguous", 12, 40, torch.float32),
    rowwise("view", 12, 40, torch.float32, row_stride=64),
    rowwise("bfloat16", 6, 256, torch.bfloat16),
    rowwise("odd", 3, 41, torch.bfloat16),
]
USED = [2, 0]


class Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts torch's operations."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


@pytest.fixture(scope="module")
def drill() -> Drill:
    return load_drill(Path(__file__).parents[4], "t2_softmax")


@pytest.fixture(params=SHAPES, ids=lambda shape: shape.name)
def slots(request: pytest.FixtureRequest) -> Iterator[Slots]:
    shape: TimedShape = request.param
    arena = HostArena(64 << 20)
    yield Slots(arena, shape, shape.rows, 3, torch.Generator().manual_seed(1))
    arena.close()


def answer(slots: Slots) -> None:
    """What a right submission does with the used slots."""
    for index in USED:
        slot = slots.slots[index]
        slot.outs[0].copy_(slot.inputs[0].double().softmax(1))


def oracle_alone(drill: Drill) -> Drill:
    """Without the fused check, which needs a GPU."""
    return Drill(**(vars(drill) | {"count_wrong": None}))


def wrong(slots: Slots, drill: Drill) -> int:
    slots.copy_out(USED)
    return slots.wrong(USED, oracle_alone(drill))


def test_a_right_answer_to_what_is_there_at_go_is_right(slots: Slots, drill: Drill) -> None:
    slots.fill(Values(-20.0, 3.0))
    slots.place_peaks()
    answer(slots)
    assert wrong(slots, drill) == 0


def test_what_was_computed_before_the_peaks_were_placed_is_stale_in_every_row(slots: Slots, drill: Drill) -> None:
    slots.fill(Values(0.0, 1.0))
    answer(slots)
    slots.place_peaks()
    rows = sum(slots.slots[index].inputs[0].shape[0] for index in USED)
    assert wrong(slots, drill) >= rows


@pytest.mark.parametrize("slug", built_in_drills())
def test_what_was_computed_before_is_stale_at_every_timed_shape_of_every_drill(slug: str) -> None:
    drill = load_drill(Path(__file__).parents[4], slug)
    assert drill.shapes
    for shape in drill.shapes:
        arena = HostArena(256 << 20)
        slots = Slots(arena, shape, 2, 1, torch.Generator().manual_seed(2))
        (slot,) = slots.slots
        for values in (Values(mean, deviation) for mean in shape.means for deviation in (0.5, 3.0)):
            slots.fill(values)
            for out, right in zip(slot.private_outs, drill.oracle(*slot.inputs), strict=True):
                out.copy_(right)
            slots.place_peaks()
            assert slots.wrong([0], oracle_alone(drill)) > slot.outs[0].numel() / 2, (shape.name, values)
        arena.close()


def test_many_small_slots_are_filled_by_as_few_operations_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = rowwise("small", 1, 64, torch.float32)
    arena = HostArena(128 << 20)
    counted = []
    for count in (1, 20):
        slots = Slots(arena, shape, shape.rows, count, torch.Generator())
        with Operations() as operations:
            slots.fill(Values(0.0, 1.0))
        counted.append(operations.count)
    assert counted[0] == counted[1]
    arena.close()


def test_an_operation_that_takes_no_time_takes_that_of_its_launch() -> None:
    shape = rowwise("small", 1, 64, torch.float32)
    arena = HostArena(128 << 20)
    slots = Slots(arena, shape, shape.rows, 20, torch.Generator())
    nothing = Calibration({torch.float32: 0.0}, 0.0, 0.0, 0.0, launch_s=1e-6, probe_s=0.0)
    assert slots.copy_out_s([3, 1, 7], nothing) == pytest.approx(3e-6)
    arena.close()


def test_rows_and_gaps_of_every_slot_are_where_its_message_says(slots: Slots) -> None:
    slots.fill(Values(0.0, 1.0))
    slots.place_peaks()
    for slot in slots.slots:
        (told,) = slot.message["inputs"]
        storage = slots.arena.flat(told["offset"], told["numel"], slot.inputs[0].dtype)
        view = storage.as_strided(told["shape"], told["strides"], storage.storage_offset() + told["lead"])
        assert torch.equal(view, slot.private_inputs[0])
        assert slot.private_inputs[0].data_ptr() % 16 == slots.slots[0].private_inputs[0].data_ptr() % 16
        assert int(storage.isnan().sum()) == told["numel"] - view.numel(), "what lies between rows stays poisoned"
        assert bool(slot.outs[0].isnan().all())


def test_the_compile_pass_is_shown_what_the_first_slot_is() -> None:
    arena = HostArena(64 << 20)
    for shape in SHAPES:
        slots = Slots(arena, shape, shape.rows, 1, torch.Generator())
        assert timed_views(shape, shape.rows) == slots.slots[0].message
    arena.close()


def test_the_private_copy_is_what_the_contestant_sees(slots: Slots) -> None:
    slots.fill(Values(5.0, 0.5))
    slots.place_peaks()
    for slot in slots.slots:
        assert torch.equal(slot.inputs[0], slot.private_inputs[0])
        peaks = (slot.inputs[0].float() > 5.0 + 0.5 * 2.9).sum(1)
        assert bool((peaks >= 1).all()), "each row has its peak"


def test_an_output_that_was_never_written_is_wrong(slots: Slots, drill: Drill) -> None:
    slots.fill(Values(0.0, 1.0))
    slots.place_peaks()
    assert wrong(slots, drill) == sum(slots.slots[index].outs[0].numel() for index in USED)


def test_a_submission_that_changes_its_input_does_not_change_what_is_expected(slots: Slots, drill: Drill) -> None:
    slots.fill(Values(0.0, 1.0))
    slots.place_peaks()
    for index in USED:
        slots.slots[index].inputs[0].zero_()
    answer(slots)
    assert wrong(slots, drill) > 0


def test_no_round_is_like_the_last(slots: Slots) -> None:
    slots.fill(Values(0.0, 1.0))
    before = slots.slots[0].inputs[0].clone()
    slots.fill(Values(0.0, 1.0))
    assert not bool((before == slots.slots[0].inputs[0]).any(1).all())


def test_a_vector_beside_the_rows_is_filled_and_checked_as_they_are() -> None:
    rmsnorm = load_drill(Path(__file__).parents[4], "t3_rmsnorm")
    arena = HostArena(64 << 20)
    shape = rowwise("weighted", 12, 40, torch.float32, vectors=1)
    slots = Slots(arena, shape, shape.rows, 3, torch.Generator().manual_seed(1))
    slots.fill(Values(-120.0, 3.0))
    slots.place_peaks()
    for index in USED:
        slot = slots.slots[index]
        x, weight = slot.inputs
        assert torch.equal(weight, slot.private_inputs[1])
        slot.outs[0].copy_(rmsnorm.oracle(x, weight)[0])
    assert wrong(slots, rmsnorm) == 0
    slots.slots[0].outs[0][3, 5] *= 1.001
    assert wrong(slots, rmsnorm) == 1
    arena.close()
