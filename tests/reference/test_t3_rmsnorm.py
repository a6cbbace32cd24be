"""The oracle's semantics, and the reference kernels on what no case asks."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest
import torch

from reference import t3_rmsnorm
from reference.resources.recording import launches_of
from reference.resources.usage import usage_of
from reference.t3_rmsnorm import EPS, LONGEST_BLOCK, _tile, oracle, rmsnorm
from tests.processes import unwatched

INTERPRETED = unwatched() | {"TRITON_INTERPRET": "1"}


def test_the_oracle_is_rms_norm_in_float64():
    drawn = torch.Generator().manual_seed(1)
    x, weight = torch.randn(7, 300, generator=drawn).half(), torch.randn(300, generator=drawn).half()
    y = oracle(x, weight)
    assert y.dtype is torch.float64
    right = torch.nn.functional.rms_norm(x.double(), (300,), weight.double(), EPS)
    torch.testing.assert_close(y, right, rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([0, 0, 0], [0, 0, 0]),
        ([3, 3, 3], [1, 1, 1]),
        ([-7], [-1]),
        ([1e-3], [0.5**0.5]),  # the square is eps
        ([1e-20, 0], [1e-17, 0]),  # the square is nothing beside eps
        ([1e15, 0, 0, 0], [2, 0, 0, 0]),
        ([], []),
    ],
)
def test_rows_of_every_size(row: list[float], expected: list[float]):
    y = oracle(torch.tensor([row], dtype=torch.float64), torch.ones(len(row)))
    torch.testing.assert_close(y, torch.tensor([expected], dtype=torch.float64), rtol=1e-6, atol=0)


def test_the_oracle_leaves_its_inputs_alone():
    x, weight = torch.tensor([[1.0, 2.0]], dtype=torch.float64), torch.tensor([3.0, 4.0], dtype=torch.float64)
    oracle(x, weight)
    assert (x.tolist(), weight.tolist()) == ([[1.0, 2.0]], [3.0, 4.0])


def test_the_oracle_gives_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch):
    drawn = torch.Generator().manual_seed(2)
    x, weight = torch.randn(50, 30, generator=drawn), torch.randn(30, generator=drawn)
    whole = oracle(x, weight)
    monkeypatch.setattr(t3_rmsnorm, "ORACLE_NUMEL", 100)
    assert torch.equal(oracle(x, weight), whole)


def test_an_empty_matrix_needs_no_kernel():
    for shape in ((0, 5), (5, 0)):
        x, weight = torch.empty(shape), torch.empty(shape[1])
        assert oracle(x, weight).shape == shape
        rmsnorm(x, weight, torch.empty(shape))


@pytest.mark.parametrize("itemsize", [2, 4])
def test_short_rows_share_a_program_within_one_warp(itemsize: int):
    for columns in (1, 64, 100, 511, 512):
        block, rows, warps = _tile(columns, itemsize)
        assert block >= columns
        assert rows * block * itemsize == 4096
        assert warps == 1
    for columns in (4096, 5120, LONGEST_BLOCK):
        block, rows, warps = _tile(columns, itemsize)
        assert rows == 1
        assert block // (32 * warps) == 32, "elements a thread"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("columns", [128, 1024, 7168, 131072])
def test_it_compiles_without_spills(columns: int, dtype: torch.dtype):
    x, weight = (
        torch.empty((4096, columns), dtype=dtype, device="meta"),
        torch.empty(columns, dtype=dtype, device="meta"),
    )
    (launch,) = launches_of(lambda: rmsnorm(x, weight, torch.empty_like(x)))
    assert usage_of(launch, 90).spilled_bytes == 0


def test_the_kernels_agree_with_the_oracle_on_rows_of_any_length():
    script = textwrap.dedent("""
        import torch
        from reference.t3_rmsnorm import LONGEST_BLOCK, oracle, rmsnorm

        for rows, columns in ((1, 1), (67, 3), (9, 512), (5, 513), (3, LONGEST_BLOCK), (3, LONGEST_BLOCK + 1)):
            x, weight = torch.randn(rows, columns), torch.randn(columns)
            x[0] = 0.0
            out = torch.empty(rows, columns + 8)[:, :columns]
            rmsnorm(x, weight, out)
            torch.testing.assert_close(out.double(), oracle(x, weight), rtol=2e-5, atol=2e-38)
            wide, apart = x.repeat_interleave(2, 1)[:, ::2], weight.repeat_interleave(3)[::3]
            rmsnorm(wide, apart, out.fill_(torch.nan))
            torch.testing.assert_close(out.double(), oracle(x, weight), rtol=2e-5, atol=2e-38)
    """)
    done = subprocess.run([sys.executable, "-c", script], env=INTERPRETED, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_fused_check_counts_what_oracle_and_policy_count():
    command = [sys.executable, "-m", "tests.reference.counted", "t3_rmsnorm"]
    done = subprocess.run(command, env=INTERPRETED, capture_output=True, text=True, check=True)
    counted = json.loads(done.stdout)
    assert {name: pair for name, pair in counted.items() if pair[0] != pair[1]} == {}
    assert sum(pair[1] > 0 for pair in counted.values()) > 15, "and most of these answers are wrong"
