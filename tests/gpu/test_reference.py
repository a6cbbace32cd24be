"""The ladder for real: the matrix with long rows and bfloat16, addresses beyond 32 bits, graphs, random matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.softmax import RUNGS, oracle, softmax, tuning
from tests.reference.softmax_checks import far_columns, far_rows, in_place
from tests.reference.softmax_matrix import DTYPES, VARIANTS, Case, cases, difference

pytestmark = pytest.mark.gpu

DEVICE = "cuda"
LENGTHS = (1, 3, 781, 1000, 1025, 2048, 4097, 8320, 16384, 32768, 50257, 131080)
BEYOND_32_BITS = 2**31
KERNELS = [name for name in RUNGS if name != "naive"]


@pytest.mark.parametrize("case", cases(LENGTHS, layout_columns=(1025,), rows=133), ids=lambda case: case.name)
def test_every_rung_gives_what_the_oracle_gives(case: Case) -> None:
    assert case.fault(DEVICE) is None


@pytest.mark.parametrize("variant", ["dispatch", *RUNGS])
@pytest.mark.parametrize("check", [far_rows, far_columns, in_place], ids=lambda check: check.__name__)
def test_beyond_the_matrix(check: Callable[[str, str], str | None], variant: str) -> None:
    assert check(variant, DEVICE) is None


@pytest.mark.parametrize(
    ("variant", "columns"),
    [
        ("dispatch", 1),  # more rows than a grid may have
        ("several_rows", 1),
        ("persistent", 1),
        ("several_rows", 1000),
        ("persistent", 16384),
        ("one_row", 32776),
        ("dispatch", 32776),
        ("online", 50_000),
        ("split", 100_000),
        ("pieces", 32776),
        ("aligned", 1001),
        ("ring", 50_001),
    ],
)
def test_more_than_two_to_the_31_elements(variant: str, columns: int) -> None:
    rows = BEYOND_32_BITS // columns + 5
    x = torch.randn(rows + columns - 1, device=DEVICE, dtype=torch.float16).unfold(0, columns, 1)
    out = torch.full((rows, columns), torch.nan, device=DEVICE, dtype=torch.float16)
    VARIANTS[variant](x, out, empty_row="zero")
    for start in (0, rows // 2, rows - 6):
        assert difference(out[start : start + 6], x[start : start + 6]) is None
    assert not any(bool(part.isnan().any()) for part in out.chunk(8))


@pytest.mark.parametrize("variant", ["dispatch", "online", "split"])
def test_a_row_of_more_than_two_to_the_31_elements(variant: str) -> None:
    columns = BEYOND_32_BITS + 4099
    x = torch.full((1, columns), -torch.inf, device=DEVICE, dtype=torch.bfloat16)
    seen = torch.tensor([0, 1, BEYOND_32_BITS - 1, BEYOND_32_BITS, columns - 1], device=DEVICE)
    x[0, seen] = torch.randn(5, device=DEVICE, dtype=torch.bfloat16)
    out = torch.full_like(x, torch.nan)
    VARIANTS[variant](x, out, empty_row="zero")
    assert difference(out[:, seen], x[:, seen]) is None
    assert sum(int(part.count_nonzero()) for part in out[0].chunk(8)) == 5


@pytest.mark.parametrize("name", KERNELS)
def test_the_result_is_the_same_every_time(name: str) -> None:
    x = torch.randn(37, 2000, device=DEVICE)
    results = []
    for _ in range(5):
        out = torch.empty_like(x)
        RUNGS[name].softmax(x, out)
        results.append(out)
    assert all(torch.equal(result, results[0]) for result in results)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("rows", "columns"), [(1, 131_072), (8, 500_000), (64, 50_257), (300, 40_000), (3, 2**20)])
@pytest.mark.parametrize(
    "options",
    [{}, {"programs": 1}, {"programs": 4, "slice_bytes": 20_000}, {"later": 2, "depth": 1}, tuning.FEW.options],
    ids=["default", "alone", "in_four", "later", "few"],
)
def test_programs_share_rows(options: Mapping[str, int], rows: int, columns: int, dtype: torch.dtype) -> None:
    x = torch.randn(rows, columns, device=DEVICE).to(dtype)
    x[0, : columns // 2] = -torch.inf
    x[-1, columns // 3] = 20
    out = torch.full_like(x, torch.nan)
    RUNGS["ring"].softmax(x, out, **options)
    assert difference(out, x) is None


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("rows", "columns"), [(700, 40_000), (150, 131_075)])
def test_programs_share_many_rows(rows: int, columns: int, dtype: torch.dtype) -> None:
    x = torch.randn(rows, columns, device=DEVICE).to(dtype)
    out = torch.full_like(x, torch.nan)
    RUNGS["ring"].softmax(x, out, **tuning.MANY.options)
    assert difference(out, x) is None


@pytest.mark.parametrize(("share", "later"), [(1000, 1), (4000, 1), (16_000, 1), (4000, 2), (1000, 3)])
def test_rows_that_take_turns_give_the_same_every_time(share: int, later: int) -> None:
    x = torch.randn(3000, 5001, device=DEVICE)
    first, again = torch.empty_like(x), torch.empty_like(x)
    share_rows = partial(RUNGS["ring"].softmax, slice_bytes=share, warps=1, depth=1, programs=8, later=later)
    share_rows(x, first)
    assert difference(first, x) is None
    for _ in range(20):
        share_rows(x, again)
        assert torch.equal(first, again)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("columns", [16384, 20_001])
def test_rows_of_16_bits_wait_as_they_are(columns: int, dtype: torch.dtype) -> None:
    x = torch.randn(300, columns, device=DEVICE, dtype=dtype)
    out = torch.full_like(x, torch.nan)
    RUNGS["pieces"].softmax(x, out, warps=8, programs=2, short=True)
    assert difference(out, x) is None


def test_what_is_not_resident_at_once_is_refused() -> None:
    x = torch.empty(1, 2**20, device=DEVICE)
    with pytest.raises(ValueError, match="are resident at once"):
        RUNGS["ring"].softmax(x, torch.empty_like(x), slice_bytes=1024)


def test_graphs_that_share_rows_run_side_by_side() -> None:
    pairs = [(torch.randn(2, 100_000, device=DEVICE), torch.empty(2, 100_000, device=DEVICE)) for _ in range(2)]
    share_rows = partial(RUNGS["ring"].softmax, programs=2, slice_bytes=8192)
    graphs = []
    for x, out in pairs:
        share_rows(x, out)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(30):
                share_rows(x, out)
        graphs.append(graph)
    streams = [torch.cuda.Stream() for _ in pairs]  # type: ignore[no-untyped-call]
    for _, out in pairs:
        out.fill_(torch.nan)
    torch.cuda.synchronize()
    for _ in range(20):
        for graph, stream in zip(graphs, streams, strict=True):
            with torch.cuda.stream(stream):
                graph.replay()
    torch.cuda.synchronize()
    assert all(difference(out, x) is None for x, out in pairs)


@pytest.mark.parametrize(("rows", "columns"), [(1000, 256), (1000, 5000), (1000, 50257), (3, 200_000)])
def test_a_graph_replays_what_was_captured(rows: int, columns: int) -> None:
    x, out = torch.randn(rows, columns, device=DEVICE), torch.empty(rows, columns, device=DEVICE)
    softmax(x, out)  # compiles, which a capture may not
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        softmax(x, out)
    for _ in range(2):
        x.normal_()
        graph.replay()
        assert difference(out, x) is None


def test_it_runs_on_the_current_stream() -> None:
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    x = torch.empty(4096, 4096, device=DEVICE)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # type: ignore[no-untyped-call]  # on another stream the kernel would come first
        x.normal_()
        out = softmax(x)
    stream.synchronize()
    assert difference(out, x) is None


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_matrix(data: st.DataObject) -> None:
    near_powers = st.builds(lambda power, step: max(1, 2**power + step), st.integers(0, 16), st.integers(-2, 2))
    rows, columns = data.draw(st.integers(1, 300)), data.draw(near_powers | st.integers(1, 70_000))
    dtype = data.draw(st.sampled_from(DTYPES))
    column_stride = data.draw(st.sampled_from([1, 1, 1, 2]))
    row_stride = columns * column_stride + data.draw(st.integers(0, 17))
    offset = data.draw(st.integers(0, 9))
    storage = torch.randn(offset + rows * row_stride, device=DEVICE).mul_(data.draw(st.sampled_from([1.0, 20.0])))
    x = storage.to(dtype).as_strided((rows, columns), (row_stride, column_stride), offset)
    masked = data.draw(st.integers(0, columns))
    x[rows // 2, :masked] = -torch.inf
    for empty_row in ("zero", "nan"):
        assert difference(softmax(x, empty_row=empty_row), x, empty_row) is None


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_torch_agrees_but_for_rows_of_nothing_but_minus_infinity(dtype: torch.dtype) -> None:
    x = torch.randn(64, 1000, device=DEVICE, dtype=dtype)
    x[3], x[4, 5], x[5, 6] = -torch.inf, torch.nan, torch.inf
    ours, theirs = softmax(x, empty_row="nan"), torch.softmax(x, 1)
    torch.testing.assert_close(ours, theirs, equal_nan=True)
    assert (oracle(x, "nan").isnan() == ours.isnan()).all()
