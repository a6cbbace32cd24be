"""Layouts, operands and destinations: where things lie."""

from __future__ import annotations

import pytest
import torch

from graders.inputs import GUARD, destination, strided, transposed
from graders.memory import Call, Decoy, Draw, Layout


def test_a_layout_holds_its_view_and_no_more():
    layout = Layout.of((3, 4), (10, 2), lead=5, tail=7)
    assert layout.numel == 5 + (2 * 10 + 3 * 2 + 1) + 7
    assert layout.view_numel == 12
    assert Layout.of((0, 4), (10, 1)).numel == 0


def test_a_view_counts_from_its_storage_even_in_a_slice():
    memory = torch.arange(100.0)
    view = Layout.of((2, 3), (4, 1), lead=1).view(memory[50:])
    assert view.tolist() == [[51, 52, 53], [55, 56, 57]]


def test_placing_fills_what_lies_around_the_values():
    operand = strided(torch.ones(2, 3), row_stride=5, offset=1)
    storage = torch.zeros(operand.layout.numel)
    assert torch.equal(operand.place(storage), torch.ones(2, 3))
    assert int(storage.isnan().sum()) == operand.layout.numel - 6


def test_a_decoy_lies_where_it_is_said():
    operand = strided(torch.ones(1, 2), lead=10, decoys=(Decoy(-8, torch.tensor([7.0, 8.0])),))
    call = Call((operand,), (), (torch.zeros(operand.layout.numel),))
    operand.place(call.storages[0])
    assert call.gather(0, torch.tensor([-8, -7, 0])).tolist() == [7, 8, 1]
    assert call.gather(0, torch.tensor([-(10**9), 10**9])).isnan().all()


def test_a_transposed_operand_is_the_transpose():
    values = torch.arange(6.0).reshape(2, 3)
    operand = transposed(values)
    view = operand.place(torch.zeros(operand.layout.numel))
    assert torch.equal(view, values)
    assert view.stride() == (1, 2)


@pytest.mark.parametrize("columns", [1, 5, 8, 1025])
def test_the_guard_of_an_output_takes_an_unmasked_store(columns: int):
    out = destination(strided(torch.ones(3, columns))).layout
    last_row = out.lead + 2 * out.strides[0]
    block = 1 << (columns - 1).bit_length()
    assert out.lead >= GUARD
    assert last_row + block + GUARD <= out.numel


def test_the_guard_of_an_output_takes_rows_written_with_the_inputs_stride():
    x = strided(torch.ones(3, 10), row_stride=4096)
    out = destination(x, row_stride=16).layout
    assert out.strides == (16, 1)
    assert out.lead + 2 * 4096 + 10 <= out.numel


def test_draws_repeat_with_their_seed_and_know_their_lane():
    first, second = (Draw(torch.Generator().manual_seed(3), interpreter=True) for _ in range(2))
    assert torch.equal(first.normal(4, 5, mean=2.0), second.normal(4, 5, mean=2.0))
    assert first.integer(0, 10**6) == second.integer(0, 10**6)
    x = first.uniform(100, low=-3.0, high=-1.0, dtype=torch.float16)
    assert x.dtype is torch.float16
    assert -3 <= float(x.min()) <= float(x.max()) <= -1
    assert first.rows(gpu=1823, interpreter=61) == 61
    assert Draw(torch.Generator(), interpreter=False).rows(gpu=1823, interpreter=61) == 1823
