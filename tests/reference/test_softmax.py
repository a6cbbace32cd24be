"""The ladder in Triton's interpreter, and what it says of calls that no kernel is needed for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch

from reference.resources.recording import launches_of
from reference.softmax import RUNGS, meeting, oracle, softmax, tuning
from reference.softmax.meeting import Plan, plan
from reference.softmax.pieces import cut
from reference.softmax.split import pieces
from tests.processes import unwatched
from tests.reference.softmax_checks import CHECKS
from tests.reference.softmax_matrix import INTERPRETER_CASES, INTERPRETER_SKIPS, VARIANTS, Case

ROOT = Path(__file__).parents[2]
NAN, INF = float("nan"), float("inf")
FAULTS_WAIT_S = 900
"""The whole matrix is interpreted in one process, minutes on a slow machine, before the first of these tests."""

pytestmark = pytest.mark.timeout(FAULTS_WAIT_S)


@pytest.fixture(scope="module")
def faults() -> dict[str, str | None]:
    """By case and check, what the interpreter found wrong. Its numerical warnings are errors."""
    command = [sys.executable, "-W", "error::RuntimeWarning", "-W", "ignore:All-NaN slice", "-m"]
    done = subprocess.run(
        [*command, "tests.reference.interpreted"],
        cwd=ROOT,
        env=unwatched() | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=FAULTS_WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("case", INTERPRETER_CASES, ids=lambda case: case.name)
def test_every_rung_gives_what_the_oracle_gives(case: Case, faults: dict[str, str | None]) -> None:
    if case.dtype in INTERPRETER_SKIPS:
        pytest.skip(INTERPRETER_SKIPS[case.dtype])
    assert faults[case.name] is None


@pytest.mark.parametrize("name", CHECKS)
def test_beyond_the_matrix(name: str, faults: dict[str, str | None]) -> None:
    assert faults[name] is None


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_an_empty_matrix_needs_no_kernel(variant: str, shape: tuple[int, int]) -> None:
    x = torch.empty(shape)
    VARIANTS[variant](x, torch.empty_like(x), empty_row="zero")
    assert softmax(x).shape == shape


@pytest.mark.parametrize(
    ("x", "out", "message"),
    [
        (torch.empty(3), torch.empty(3), "x is a matrix"),
        (torch.empty(3, 4, 5), torch.empty(3, 4, 5), "x is a matrix"),
        (torch.empty(3, 4, dtype=torch.int32), torch.empty(3, 4, dtype=torch.int32), "floating type"),
        (torch.empty(3, 4), torch.empty(4, 3), "out is like x"),
        (torch.empty(3, 4), torch.empty(3, 4).half(), "out is like x"),
        (torch.empty(3, 4), torch.empty(3, 4, device="meta"), "out is like x"),
    ],
    ids=["vector", "three_dimensions", "integers", "shape", "dtype", "device"],
)
def test_what_is_no_pair_of_matrices_is_refused(x: torch.Tensor, out: torch.Tensor, message: str) -> None:
    variants: list[Callable[..., object]] = [softmax, *(rung.softmax for rung in RUNGS.values())]
    for variant in variants:
        with pytest.raises(ValueError, match=message):
            variant(x, out)


def test_only_two_meanings_of_an_empty_row_are_known() -> None:
    with pytest.raises(ValueError, match="empty_row is one of"):
        softmax(torch.empty(2, 2), empty_row="one")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name, rung in RUNGS.items() if rung.longest_row])
def test_a_rung_refuses_rows_longer_than_it_says(name: str) -> None:
    x = torch.empty(1, (RUNGS[name].longest_row or 0) + 1)
    with pytest.raises(ValueError, match="at most"):
        RUNGS[name].softmax(x, torch.empty_like(x))


@pytest.mark.parametrize("rows", [1, 3, 131, 132, 100_000])
@pytest.mark.parametrize("columns", [1, 1024, 1025, 16384, 32768, 32769, 10**6, 2**20 + 1])
@pytest.mark.parametrize("itemsize", [2, 4, 8])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_the_chosen_rung_takes_the_row(rows: int, columns: int, itemsize: int, device: str) -> None:
    longest = RUNGS[tuning.choice(torch.device(device), rows, columns, itemsize).rung].longest_row
    assert longest is None or columns <= longest


@pytest.mark.parametrize(
    ("multiprocessors", "shared_kib", "expected"),
    [
        (132, 228, ["ring", "ring", "ring"]),
        (108, 164, ["ring", "ring", "ring"]),
        (60, 228, ["ring", "ring", "split"]),
        (46, 100, ["online", "split", "split"]),
    ],
    ids=["H200", "A100", "three sevenths of an H200", "RTX 3070"],
)
def test_a_gpu_that_cannot_hold_rows_is_not_asked_to_share_them(
    multiprocessors: int, shared_kib: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "multiprocessors", lambda device: multiprocessors)
    monkeypatch.setattr(tuning, "shared_bytes", lambda device: shared_kib << 10)
    matrices = ((2048, 131_072), (4, 500_000), (1, 2**20))
    chosen = [tuning.choice(torch.device("meta"), rows, columns, 4) for rows, columns in matrices]
    assert [choice.rung for choice in chosen] == expected
    for matrix, choice in zip(matrices, chosen, strict=True):
        x = torch.empty(matrix, device="meta")
        assert launches_of(partial(RUNGS[choice.rung].softmax, x, torch.empty_like(x), **choice.options))


def test_a_gpu_without_asynchronous_copies_has_no_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "has_copies", lambda device: False)
    assert tuning.choice(torch.device("meta"), 2048, 131_072, 4).rung == "online"


@pytest.mark.parametrize("table", tuning.TABLES.values(), ids=str)
def test_a_table_rises_and_its_rungs_take_its_rows(table: tuning.Table) -> None:
    assert [longest for longest, _ in table] == sorted({longest for longest, _ in table})
    assert all(longest <= (RUNGS[chosen.rung].longest_row or longest) for longest, chosen in table)


@pytest.mark.parametrize("rows", [1, 8, 64, 4096])
@pytest.mark.parametrize("columns", [32769, 50257, 131072, 500_000, 2**20])
@pytest.mark.parametrize("choice", [tuning.FEW, tuning.MANY], ids=["few", "many"])
def test_an_h200_holds_every_shared_row_as_planned(rows: int, columns: int, choice: tuning.Choice) -> None:
    longest = choice.options["slice_bytes"] // 4
    shared = plan(rows, columns, longest, 132 * choice.options["programs"], least=1024)
    assert shared.groups >= 1
    assert shared.length <= longest
    assert shared.length % 16 == 0
    assert (shared.splits - 1) * shared.length < columns <= shared.splits * shared.length


def test_a_row_of_one_program_needs_no_words() -> None:
    assert plan(9, 8000, 8000, resident=7, least=1000).waiting_groups == 0
    assert plan(9, 8000, 4000, resident=7, least=1000).waiting_groups == 3


@pytest.mark.parametrize(
    ("rows", "columns", "longest", "groups", "splits", "length"),
    [
        (1, 8000, 4000, 1, 7, 1152),  # the five that would be left over
        (2, 8000, 4000, 2, 3, 2672),
        (3, 8000, 4000, 3, 2, 4000),
        (1, 8000, 8000, 1, 7, 1152),
        (9, 8000, 8000, 7, 1, 8000),
        (1, 2100, 2100, 1, 2, 1056),  # fewer than 1000 elements are too few
        (1, 900, 900, 1, 1, 912),
    ],
)
def test_programs_that_would_be_left_over_share_rows(
    rows: int, columns: int, longest: int, groups: int, splits: int, length: int
) -> None:
    assert plan(rows, columns, longest, resident=7, least=1000) == Plan(groups, splits, length)


def test_programs_that_cannot_all_be_resident_are_not_launched() -> None:
    with pytest.raises(ValueError, match="take 8 programs, but 7 are resident"):
        plan(1, 8000, 1024, resident=7, least=1000)


@pytest.mark.parametrize("columns", [16, 63, 64, 781, 1000, 8320, 12672, 50257, 65536])
@pytest.mark.parametrize("vector", [1, 4, 8])
@pytest.mark.parametrize("warps", [1, 4, 32])
def test_a_row_is_cut_into_whole_blocks_and_a_tail_wherever_it_begins(columns: int, vector: int, warps: int) -> None:
    lanes = 128 * warps
    cutting = cut(columns, lanes, vector)
    assert list(cutting) == sorted({1 << bit for bit in range(10)} & set(cutting), reverse=True)
    for head in range(vector):
        tail = (columns - head) // vector * vector - lanes * sum(cutting)
        assert 0 <= tail < lanes or (tail == lanes and vector > 1)


def test_captured_launches_get_counters_of_their_own_until_the_reserve_is_used_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = torch.device("cpu")
    reserve = torch.zeros(3 * meeting.LINE_WORDS, dtype=torch.int64)
    monkeypatch.setitem(meeting._reserve, device, reserve)
    places = [meeting._reserved(device, groups * meeting.LINE_WORDS) for groups in (1, 2, 1)]
    assert [place.data_ptr() - reserve.data_ptr() for place in places[:2]] == [0, 128]
    assert [len(place) for place in places] == [16, 32, 16]
    assert places[2].untyped_storage().data_ptr() != reserve.data_ptr()


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 100, 1000, 2**31 + 5])
@pytest.mark.parametrize("splits", [1, 2, 3, 7, 64])
def test_pieces_cover_the_row_and_none_is_empty(columns: int, splits: int) -> None:
    count, blocks = pieces(columns, splits, block=16)
    assert 1 <= count <= splits
    assert (count - 1) * blocks * 16 < columns <= count * blocks * 16


@pytest.mark.parametrize(
    ("row", "zero", "nan"),
    [
        ([-INF, -INF], [0, 0], [NAN, NAN]),
        ([-INF, 3], [0, 1], [0, 1]),
        ([NAN, -INF], [NAN, NAN], [NAN, NAN]),
        ([INF, 1], [NAN, NAN], [NAN, NAN]),
        ([7], [1], [1]),
        ([], [], []),
    ],
)
def test_the_oracle_and_torch_agree_on_special_rows(row: list[float], zero: list[float], nan: list[float]) -> None:
    x = torch.tensor([row])
    for expected, y in ((zero, oracle(x)), (nan, oracle(x, "nan")), (nan, torch.softmax(x.double(), 1))):
        torch.testing.assert_close(y, torch.tensor([expected], dtype=torch.float64), equal_nan=True)
