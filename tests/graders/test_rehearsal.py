"""A drill's code, tried: every way to break it is a finding with file and line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from graders.cases import Case
from graders.memory import Call, Draw
from graders.package import Package
from graders.rehearsal import Rehearsal, out_of_memory
from graders.validation import Finding, FindingCode
from graders.verdict import Lane
from tests.drills import CASES, FOLDER, REFERENCE, SLUG, changed, new_drill

MISTAKES = f"{FOLDER}/misconceptions.py"


def draw(case: Case) -> Call:
    return case.make(Draw(torch.Generator().manual_seed(1), interpreter=True))


def rehearse(package: Package, root: Path) -> Rehearsal:
    for name, data in package.files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    rehearsal = Rehearsal(root, SLUG, memory_mib=100)
    rehearsal.run(draw, lambda case: case.skip_reason(Lane.INTERPRETER) is None)
    return rehearsal


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    for name in [name for name in sys.modules if SLUG in name.split(".")]:
        del sys.modules[name]


def line_of(package: Package, file: str, text: str) -> int:
    return next(n for n, line in enumerate(package.files[file].decode().splitlines(), 1) if text in line)


def only(package: Package, root: Path, code: FindingCode, file: str, text: str | None) -> Finding:
    """The one finding: of this code, at the line of this file that holds this text."""
    (finding,) = rehearse(package, root).findings
    assert (finding.code, finding.file) == (code, file)
    assert finding.line == (line_of(package, file, text) if text is not None else None)
    return finding


def test_a_right_drill_has_no_findings(tmp_path: Path):
    rehearsal = rehearse(new_drill(), tmp_path)
    assert rehearsal.findings == []
    assert len(rehearsal.drawn) == 15
    assert {item.name: item.memory_mib for item in rehearsal.drawn}["basic/positive"] == 2 * 4 * 4 * 5 / 2**20


@pytest.mark.parametrize("file", [CASES, MISTAKES, REFERENCE, f"{FOLDER}/starter.py"])
def test_python_that_cannot_be_read(tmp_path: Path, file: str):
    package = changed(new_drill(), file, "import torch", "import torch\ndef (:")
    finding = only(package, tmp_path, FindingCode.PYTHON_SYNTAX, file, "def (:")
    assert finding.params == {"message": "invalid syntax"}


def test_every_file_that_cannot_be_read_is_told_at_once(tmp_path: Path):
    package = new_drill()
    for file in (CASES, MISTAKES):
        package = changed(package, file, "import torch", "import torch\nreturn = 1")
    assert {finding.file for finding in rehearse(package, tmp_path).findings} == {CASES, MISTAKES}


@pytest.mark.parametrize(
    ("line", "exception"),
    [
        ("import nothing_of_the_kind", "ModuleNotFoundError"),
        ("1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("from graders.cases import Caze", "ImportError"),
    ],
)
def test_python_that_cannot_be_imported(tmp_path: Path, line: str, exception: str):
    package = changed(new_drill(), CASES, "import torch\n", f"import torch\n\n{line}\n")
    finding = only(package, tmp_path, FindingCode.LOAD_EXCEPTION, CASES, line)
    assert finding.params["exception"] == exception


def test_the_line_is_the_drills_even_if_torch_raises(tmp_path: Path):
    package = changed(new_drill(), CASES, "CASES: tuple", "torch.ones(2) @ torch.ones(3)\nCASES: tuple")
    only(package, tmp_path, FindingCode.LOAD_EXCEPTION, CASES, "torch.ones(2) @")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("CASES: tuple[Case, ...]", "TESTS: tuple[Case, ...]", "CASES is not a tuple of Case"),
        ('"n1000", "lengths"', '"n1000", "length"', "category 'length', unknown to drill.toml"),
        ('"n1000", "lengths"', '"n1", "lengths"', "two cases are named 'n1'"),
    ],
)
def test_a_drill_that_does_not_fit_together(tmp_path: Path, old: str, new: str, reason: str):
    package = changed(new_drill(), CASES, old, new)
    finding = only(package, tmp_path, FindingCode.LOAD_UNUSABLE, CASES, None)
    assert reason in str(finding.params["reason"])


def test_a_test_that_cannot_be_drawn(tmp_path: Path):
    package = changed(new_drill(), CASES, "x[list(rows)] = 0.0", "x[list(rows)] = 'zero'")
    findings = rehearse(package, tmp_path).findings
    assert {finding.code for finding in findings} == {FindingCode.CASE_EXCEPTION}
    assert {finding.case for finding in findings} == {"zero_rows/one_row", "zero_rows/all_rows"}
    assert {(finding.file, finding.line) for finding in findings} == {(CASES, line_of(package, CASES, "'zero'"))}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("uniform(4, 5, 0.5, 4.0)", 'uniform(4, 5, 0.5, 4.0), dtype="float16"', None),
        ("uniform(4, 5, 0.5, 4.0)", "uniform(4, 5, 0.5, 4.0), lambda x: transposed(x.half())", "declares float32"),
    ],
)
def test_a_call_has_to_be_what_its_test_says(tmp_path: Path, old: str, new: str, reason: str | None):
    package = changed(new_drill(), CASES, old, new)
    if reason is None:
        assert rehearse(package, tmp_path).findings == []
    else:
        finding = only(package, tmp_path, FindingCode.CASE_CALL, CASES, None)
        assert finding.case == "basic/positive"
        assert reason in str(finding.params["reason"])


def test_a_make_that_returns_no_call(tmp_path: Path):
    own = 'CASES = (*CASES, Case("none", "basic", lambda draw: None))\n'
    package = new_drill()
    package = Package(SLUG, package.files | {CASES: package.files[CASES] + own.encode()})
    assert "make returned NoneType" in str(only(package, tmp_path, FindingCode.CASE_CALL, CASES, None).params["reason"])


def test_an_oracle_that_raises(tmp_path: Path):
    raising = "    y = x.double() / (1 // (x.shape[1] - 1) + 1)"
    package = changed(new_drill(), REFERENCE, "    y = x.double()", raising)
    finding = only(package, tmp_path, FindingCode.ORACLE_EXCEPTION, REFERENCE, raising)
    assert (finding.case, finding.params["exception"]) == ("lengths/n1", "ZeroDivisionError")


def test_an_oracle_that_answers_in_another_form(tmp_path: Path):
    package = changed(new_drill(), REFERENCE, "    y = x.double()", "    y = x.float()")
    finding = rehearse(package, tmp_path).findings[0]
    assert (finding.code, finding.case) == (FindingCode.ORACLE_OUTPUT, "basic/positive")
    assert finding.params == {"got": "float32 4×5", "expected": "float64 4×5"}


def test_the_tolerance_is_tried_last(tmp_path: Path):
    package = changed(new_drill(), f"{FOLDER}/drill.toml", "relative = 2e-5", "relative = 1e-12")
    assert {item.code for item in rehearse(package, tmp_path).findings} == {
        FindingCode.REFUSES_ROUNDED,
        FindingCode.REFUSES_OTHER_ORDER,
    }


def test_a_drill_that_asks_for_too_much_memory_is_told_the_limit(tmp_path: Path):
    package = changed(new_drill(), CASES, "import torch\n", "import torch\n\nraise MemoryError\n")
    finding = only(package, tmp_path, FindingCode.LOAD_MEMORY_LIMIT, CASES, "raise MemoryError")
    assert finding.params == {"limit_mib": 100}


def test_torch_without_memory_is_out_of_memory():
    with pytest.raises(RuntimeError) as refused:
        torch.empty(1 << 60, dtype=torch.uint8)
    assert out_of_memory(refused.value)
