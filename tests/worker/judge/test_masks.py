"""The first of what is true, with little memory."""

from __future__ import annotations

import os
import resource
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch

from worker.judge import masks
from worker.judge.arena import HostArena
from worker.judge.masks import chunks, first_index, first_true


@pytest.mark.parametrize("places", [[0], [6, 7, 11], [7], [23], [8, 9]])
def test_the_first_is_found_wherever_pieces_end(places: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masks, "CHUNK", 7)
    mask = torch.zeros(24, dtype=torch.bool)
    mask[places] = True
    assert first_true(mask) == places[0]
    assert first_index(mask.view(4, 6)) == divmod(places[0], 6)
    assert first_index(mask.view(6, 4).T) == tuple(mask.view(6, 4).T.nonzero()[0].tolist())


@pytest.mark.parametrize("shape", [(24,), (0,), (3, 0)])
def test_nothing_is_found_where_nothing_is_true(shape: tuple[int, ...]) -> None:
    mask = torch.zeros(shape, dtype=torch.bool)
    assert first_true(mask) is None
    with pytest.raises(ValueError, match="nothing is true"):
        first_index(mask)


def test_pieces_make_up_the_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masks, "CHUNK", 10)
    assert list(chunks([(0, 25), (30, 30), (95, 101)])) == [(0, 10), (10, 20), (20, 25), (95, 101)]


def test_a_hole_that_was_filled_does_not_cost_many_times_its_size() -> None:
    child = get_context("spawn").Process(target=_look_at_a_filled_hole)
    child.start()
    child.join(120)
    assert child.exitcode == 0


def _look_at_a_filled_hole() -> None:
    """128 MiB of ones, and room for four times as much: a list of their places would take eight times."""
    filled, pages = 128 << 20, int(Path("/proc/self/statm").read_text().split()[0])
    arena = HostArena(filled + (64 << 20))
    arena.flat(16 << 20, filled, torch.uint8).fill_(1)
    resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGESIZE") + arena.nbytes + 4 * filled,) * 2)
    if arena.first_nonzero([(0, arena.nbytes)]) != 16 << 20:
        raise AssertionError
