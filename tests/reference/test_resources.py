"""Kernels compiled without a GPU: what they use, what is told of it, and how wide they load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
import triton
from triton import knobs

from reference.resources.__main__ import BEGIN, END, between_marks, main
from reference.resources.occupancy import resident_programs
from reference.resources.recording import Launch, launches_of
from reference.resources.tables import CAPABILITIES, SUBJECTS, entries, kernel_table, launches, warps_table
from reference.resources.usage import compiled, usage_of
from reference.softmax import RUNGS

PAGE = Path(__file__).parents[2] / "docs/reference-kernels.md"


@pytest.mark.parametrize(
    ("registers", "warps", "shared_bytes", "programs"),
    [
        (32, 4, 0, 16),  # 64 warps
        (33, 4, 0, 12),  # 40 registers a thread: 51 warps
        (255, 8, 0, 1),
        (255, 16, 0, 0),  # 16 warps of 8192 registers are more than there are
        (16, 1, 0, 32),
        (32, 4, 64 * 1024, 2),
    ],
)
def test_programs_on_a_multiprocessor(registers: int, warps: int, shared_bytes: int, programs: int) -> None:
    assert resident_programs(registers, warps, shared_bytes) == programs


def test_a_call_is_recorded_as_a_gpu_would_compile_it() -> None:
    before = knobs.runtime.jit_cache_hook
    partials, merge = launches(SUBJECTS["split"], 65536)
    assert [launch.kernel.__name__ for launch in (partials, merge)] == ["softmax_split_partials", "softmax_split_merge"]
    assert partials.signature["x_ptr"] == "*fp32"
    assert partials.signature["x_column_stride"] == "constexpr", "1 is compiled in"
    assert knobs.runtime.jit_cache_hook is before


@pytest.mark.parametrize("name", [name for name in SUBJECTS if name != "t2_softmax"])
def test_every_rung_compiles_for_every_target_without_spills(name: str) -> None:
    for entry in entries([name], [2048]):
        assert (entry.first, entry.last) == (2048, 2048)
        assert [usage.target for usage in entry.usages] == [f"sm_{capability}" for capability in CAPABILITIES]
        for usage in entry.usages:
            assert 16 <= usage.registers <= 96
            assert usage.spilled_bytes == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", [name for name in RUNGS if name != "naive"])
def test_every_rung_compiles_for_every_dtype(name: str, dtype: torch.dtype) -> None:
    x = torch.empty((5, 100), dtype=dtype, device="meta")
    for launch in launches_of(lambda: RUNGS[name].softmax(x, torch.empty_like(x), empty_row="nan")):
        assert usage_of(launch, 90).registers


def test_spills_are_told() -> None:
    (launch,) = launches(SUBJECTS["one_row"], 32768)
    assert usage_of(launch, 90, warps=4).spilled_bytes > 100


def test_lengths_for_which_nothing_differs_are_one_entry() -> None:
    assert [(entry.first, entry.last) for entry in entries(["online"], [16384, 32768])] == [(16384, 32768)]


@pytest.mark.parametrize(
    ("columns", "dtype", "width"),
    [
        (1024, torch.float32, "v4.b32"),
        (1000, torch.float32, "v4.b32"),
        (1000, torch.bfloat16, "v4.b32"),
        (8200, torch.bfloat16, "v4.b32"),
        (1004, torch.bfloat16, "v2.b32"),
        (781, torch.bfloat16, "b16"),
    ],
)
@pytest.mark.parametrize("name", ["one_row", "online"])
def test_loads_are_as_wide_as_the_length_allows(name: str, columns: int, dtype: torch.dtype, width: str) -> None:
    x = torch.empty((100, columns), dtype=dtype, device="meta")
    (launch,) = launches_of(lambda: RUNGS[name].softmax(x, torch.empty_like(x)))
    assert widths(launch) == {width}


@pytest.mark.parametrize(
    ("columns", "dtype"), [(781, torch.bfloat16), (1025, torch.float32), (2047, torch.bfloat16), (2046, torch.bfloat16)]
)
@pytest.mark.parametrize("name", ["pieces", "aligned", "ring"])
def test_the_body_of_a_row_that_begins_anywhere_is_loaded_16_bytes_at_a_time(
    name: str, columns: int, dtype: torch.dtype
) -> None:
    x = torch.empty((100, columns), dtype=dtype, device="meta")
    (launch,) = launches_of(lambda: RUNGS[name].softmax(x, torch.empty_like(x), warps=1))
    assert "v4.b32" in widths(launch)


@pytest.mark.parametrize(
    ("columns", "dtype"), [(1024, torch.float32), (1025, torch.float32), (781, torch.bfloat16), (50_257, torch.float64)]
)
def test_a_ring_is_filled_16_bytes_at_a_time(columns: int, dtype: torch.dtype) -> None:
    x = torch.empty((100, columns), dtype=dtype, device="meta")
    assert copies_of(x) == {"0x10"}


def test_rows_that_are_no_whole_vectors_go_through_registers() -> None:
    assert copies_of(torch.empty((100, 2048), device="meta")[:, ::2]) == set()


def copies_of(x: torch.Tensor) -> set[str]:
    """How wide the asynchronous copies are that a ring is filled with, in bytes."""
    (launch,) = launches_of(lambda: RUNGS["ring"].softmax(x, torch.empty_like(x)))
    ptx = compiled(launch, 90).asm["ptx"]
    return set(re.findall(r"cp\.async\.c[ag]\.shared\.global \[[^]]+\], \[[^]]+\], (\w+)", ptx))


@pytest.mark.parametrize("name", ["several_rows", "pieces", "ring"])
def test_an_exponential_takes_one_instruction_and_a_product(name: str) -> None:
    x = torch.empty((100, 2000), dtype=torch.bfloat16, device="meta")
    (launch,) = launches_of(lambda: RUNGS[name].softmax(x, torch.empty_like(x)))
    ptx = compiled(launch, 90).asm["ptx"]
    of_elements, others = ptx.count("ex2.approx.ftz.f32"), ptx.count("ex2.approx.f32")
    assert of_elements >= 8
    assert others <= 2  # of a program's maximum and the row's


def widths(launch: Launch) -> set[str]:
    """How wide a kernel loads and stores, without what it asks of the caches."""
    ptx = compiled(launch, 90).asm["ptx"]
    return set(re.findall(r"(?:ld|st)\.global(?:\.L\d::\w+)*\.((?:v\d\.)?b\d+)", ptx))


def test_tables_have_a_cell_for_every_column() -> None:
    for table in (kernel_table(entries(["several_rows"], [1024])), warps_table([1024])):
        assert len(table) == 3
        assert len({line.count("|") for line in table}) == 1


def test_text_goes_between_the_marks() -> None:
    assert between_marks(f"a\n{BEGIN}\nold\n{END}\nb\n", "new\n") == f"a\n{BEGIN}\nnew\n{END}\nb\n"
    with pytest.raises(ValueError, match="no lines"):
        between_marks("no marks", "new")


def test_the_page_has_what_the_command_gives() -> None:
    page = PAGE.read_text("utf-8")
    assert BEGIN in page
    assert all(f"| {name} |" in page for name in SUBJECTS)
    if f"Triton {triton.__version__}:" not in page:
        pytest.skip("the page was written with another Triton")
    for line in (*kernel_table(entries(["one_row"], [4096])), *warps_table([1024])):
        assert line in page


def test_the_command_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reference.resources.__main__.document", lambda: "tables\n")
    (tmp_path / "page.md").write_text(f"{BEGIN}\n{END}\n")
    assert main(["--write", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text() == f"{BEGIN}\ntables\n{END}\n"
