"""The kernels for few long rows: how a row is cut, what no case asks, and the check of timed outputs."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest
import torch

from reference import t2_online_softmax, t2_softmax
from reference.t2_online_softmax import LONGEST_BLOCK, SHORTEST_BLOCK, _cut
from tests.processes import unwatched

INTERPRETED = unwatched() | {"TRITON_INTERPRET": "1"}
H200 = 132
"""Multiprocessors."""


def test_the_oracle_is_the_one_of_t2():
    x = torch.randn(5, 300, generator=torch.Generator().manual_seed(1))
    x[0], x[1, 7], x[2, 7], x[3, :200] = -torch.inf, torch.nan, torch.inf, -torch.inf
    assert torch.equal(t2_online_softmax.oracle(x).nan_to_num(), t2_softmax.oracle(x).nan_to_num())


def test_an_empty_matrix_needs_no_kernel():
    for shape in ((0, 5), (5, 0)):
        t2_online_softmax.softmax(torch.empty(shape), torch.empty(shape))


@pytest.mark.parametrize(
    ("rows", "columns", "block", "pieces", "blocks"),
    [
        (1, 500_000, 1024, 489, 1),
        (8, 1 << 20, 8192, 64, 2),
        (256, 262_144, 8192, 2, 16),
        (512, 131_072, 8192, 1, 16),
        (100_000, 8, 1024, 1, 1),
    ],
)
def test_a_row_is_cut_so_that_the_device_is_full(rows: int, columns: int, block: int, pieces: int, blocks: int):
    assert _cut(rows, columns, H200) == (block, pieces, blocks)


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 100, 600])
@pytest.mark.parametrize("columns", [1, 1023, 1025, 8192, 8193, 50_257, 131_073, 500_000, (1 << 20) - 1])
@pytest.mark.parametrize("multiprocessors", [1, 108, H200])
def test_no_piece_is_empty_and_none_is_missing(rows: int, columns: int, multiprocessors: int):
    block, pieces, blocks = _cut(rows, columns, multiprocessors)
    assert SHORTEST_BLOCK <= block <= LONGEST_BLOCK
    assert (pieces - 1) * blocks * block < columns <= pieces * blocks * block


def test_the_kernels_agree_with_the_oracle_however_a_row_is_cut():
    script = textwrap.dedent("""
        import torch
        from reference import t2_online_softmax as reference

        torch.set_num_threads(1)
        for multiprocessors, columns in ((1, 3), (1, 20_000), (3, 20_001), (40, 70_000)):
            reference._multiprocessors = lambda device, count=multiprocessors: count
            x = torch.randn(6, columns)
            x[0], x[1, 1:], x[2, 0], x[3, -1], x[4, :-1] = -torch.inf, -torch.inf, torch.nan, torch.inf, -torch.inf
            out = torch.empty(6, columns + 8)[:, :columns]
            reference.softmax(x, out)
            torch.testing.assert_close(out.double(), reference.oracle(x), rtol=2e-5, atol=2e-38, equal_nan=True)
            wide = x.repeat_interleave(2, 1)[:, ::2]
            reference.softmax(wide, out)
            torch.testing.assert_close(out.double(), reference.oracle(x), rtol=2e-5, atol=2e-38, equal_nan=True)
    """)
    done = subprocess.run([sys.executable, "-c", script], env=INTERPRETED, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_fused_check_counts_what_oracle_and_policy_count():
    command = [sys.executable, "-m", "tests.reference.counted", "t2_online_softmax"]
    done = subprocess.run(command, env=INTERPRETED, capture_output=True, text=True, check=True)
    counted = json.loads(done.stdout)
    assert {name: pair for name, pair in counted.items() if pair[0] != pair[1]} == {}
    assert sum(pair[1] > 0 for pair in counted.values()) > 15, "and most of these answers are wrong"
