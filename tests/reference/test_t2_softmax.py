"""The oracle's semantics, and the reference kernels on what no case asks."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest
import torch

from reference import t2_softmax
from reference.t2_softmax import oracle
from tests.processes import unwatched

NAN, INF = float("nan"), float("inf")


def test_the_oracle_is_softmax_in_float64():
    x = torch.randn(7, 300, generator=torch.Generator().manual_seed(1)).half()
    y = oracle(x)
    assert y.dtype is torch.float64
    torch.testing.assert_close(y, torch.softmax(x.double(), -1), rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([-INF, -INF, -INF], [0, 0, 0]),
        ([-INF, 3, -INF], [0, 1, 0]),
        ([NAN, -INF, -INF], [NAN, NAN, NAN]),
        ([NAN, 1, 2], [NAN, NAN, NAN]),
        ([INF, 1, 2], [NAN, NAN, NAN]),
        ([-1e30, -1e30, -2e30], [0.5, 0.5, 0]),
        ([7], [1]),
        ([], []),
    ],
)
def test_rows_with_special_values(row: list[float], expected: list[float]):
    y = oracle(torch.tensor([row]))
    torch.testing.assert_close(y, torch.tensor([expected], dtype=torch.float64), equal_nan=True)


def test_the_oracle_leaves_its_input_alone():
    x = torch.tensor([[1.0, -INF]], dtype=torch.float64)
    oracle(x)
    assert x.tolist() == [[1.0, -INF]]


def test_the_oracle_gives_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch):
    x = torch.randn(50, 30, generator=torch.Generator().manual_seed(2))
    whole = oracle(x)
    monkeypatch.setattr(t2_softmax, "ORACLE_NUMEL", 100)
    assert torch.equal(oracle(x), whole)


def test_an_empty_matrix_needs_no_kernel():
    for shape in ((0, 5), (5, 0)):
        assert oracle(torch.empty(shape)).shape == shape
        t2_softmax.softmax(torch.empty(shape), torch.empty(shape))


def test_the_kernels_agree_with_torch_on_special_rows_of_any_length():
    """The file's own, and those that submissions are timed against."""
    script = textwrap.dedent("""
        import torch
        from reference.t2_softmax import LONGEST_BLOCK, oracle, softmax, timed_reference

        for columns in (3, 100, LONGEST_BLOCK + 1):
            x = torch.randn(6, columns)
            x[0], x[1, 1:], x[2, 0], x[3, -1], x[4, 0] = -torch.inf, -torch.inf, torch.nan, torch.inf, -torch.inf
            out = torch.empty(6, columns + 8)[:, :columns]
            for kernel in (softmax, timed_reference):
                kernel(x, out.fill_(7))
                torch.testing.assert_close(out.double(), oracle(x), rtol=2e-5, atol=2e-38, equal_nan=True)
    """)
    environment = unwatched() | {"TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_fused_check_counts_what_oracle_and_policy_count():
    command = [sys.executable, "-m", "tests.reference.counted", "t2_softmax"]
    environment = unwatched() | {"TRITON_INTERPRET": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    counted = json.loads(done.stdout)
    assert {name: pair for name, pair in counted.items() if pair[0] != pair[1]} == {}
    assert sum(pair[1] > 0 for pair in counted.values()) > 15, "and most of these answers are wrong"
