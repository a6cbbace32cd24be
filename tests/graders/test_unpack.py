"""Zips and folders that instructors have, and those that nobody should."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from graders import archive
from graders.archive import PackageRefused
from graders.limits import PACKAGE_BYTES
from graders.unpack import read_folder, read_zip
from graders.validation import FindingCode
from tests.drills import FOLDER, REFERENCE, new_drill

FILES = new_drill().files


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def refusal(data: bytes) -> FindingCode:
    with pytest.raises(PackageRefused) as refused:
        read_zip(data)
    return refused.value.finding.code


def test_a_zip_is_read_as_it_was_written():
    package = read_zip(zipped(FILES))
    assert (package.slug, package.files) == ("row_shares", FILES)
    assert package.digest == new_drill().digest


def test_one_folder_around_it_does_no_harm():
    assert read_zip(zipped({f"my drill/{name}": data for name, data in FILES.items()})).files == FILES


@pytest.mark.parametrize(
    "name",
    [f"{FOLDER}/__pycache__/cases.cpython-311.pyc", "__MACOSX/._graders", f"{FOLDER}/.DS_Store", f"{FOLDER}/a.pyc"],
)
def test_what_systems_leave_behind_is_left_out(name: str):
    assert read_zip(zipped(FILES | {name: b"x"})).files == FILES


@pytest.mark.parametrize(
    "name",
    [
        "../evil.py",
        "/etc/passwd",
        "graders/../evil.py",
        f"{FOLDER}//a.py",
        f"{FOLDER}/a\\b.py",
        "C:/a.py",
        "graders/inputs.py",
        "reference/softmax.py",
        "worker/judge/grading.py",
        "README.md",
    ],
)
def test_a_name_outside_the_drill_is_refused(name: str):
    assert refusal(zipped(FILES | {name: b"x"})) is FindingCode.PACKAGE_BAD_NAME


def test_a_link_is_refused():
    link = zipfile.ZipInfo(f"{FOLDER}/link.py")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    buffer = io.BytesIO(zipped(FILES))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert refusal(buffer.getvalue()) is FindingCode.PACKAGE_BAD_NAME


def test_what_is_no_zip_is_refused():
    assert refusal(b"PK\x03\x04 nothing") is FindingCode.PACKAGE_UNREADABLE
    assert refusal(zipped(FILES)[:-40]) is FindingCode.PACKAGE_UNREADABLE


def test_a_damaged_file_is_refused():
    data = bytearray(zipped(FILES))
    data[2000:2100] = bytes(100)
    assert refusal(bytes(data)) is FindingCode.PACKAGE_UNREADABLE


def test_a_zip_that_unfolds_without_end_is_refused():
    assert (
        refusal(zipped(FILES | {f"{FOLDER}/zeros.py": bytes(archive.UNPACKED_BYTES)})) is FindingCode.PACKAGE_TOO_LARGE
    )


def test_a_zip_of_very_many_files_is_refused():
    many = {f"{FOLDER}/{number}.py": b"" for number in range(archive.MOST_FILES)}
    assert refusal(zipped(FILES | many)) is FindingCode.PACKAGE_TOO_LARGE


def test_a_large_zip_is_not_even_opened():
    assert refusal(bytes(PACKAGE_BYTES + 1)) is FindingCode.PACKAGE_TOO_LARGE


def test_a_package_holds_one_drill():
    other = {name.replace("row_shares", "other"): data for name, data in FILES.items()}
    assert refusal(zipped(FILES | other)) is FindingCode.PACKAGE_SEVERAL_DRILLS
    assert refusal(zipped({"graders/cases.py": b""})) is FindingCode.PACKAGE_NO_DRILL


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path


def test_a_folder_is_read_from_its_root_or_from_the_drills_own(tree: Path):
    (tree / "README.md").write_text("not of the drill")
    (tree / "reference/other.py").write_text("nor this")
    assert read_folder(tree).files == FILES
    assert read_folder(tree / FOLDER).files == FILES


def test_a_folder_without_a_reference_is_a_package_still(tree: Path):
    (tree / REFERENCE).unlink()
    assert REFERENCE not in read_folder(tree).files


def test_a_folder_without_a_drill_is_refused(tmp_path: Path):
    with pytest.raises(PackageRefused, match="package_no_drill"):
        read_folder(tmp_path)


def test_an_entry_that_unpacks_to_more_than_it_says_is_refused():
    size = 3_000_017
    honest = zipped(FILES | {f"{FOLDER}/zeros.bin": bytes(size)})
    assert honest.count(struct.pack("<I", size)) == 2, "in its own header and in the directory"
    lying = honest.replace(struct.pack("<I", size), struct.pack("<I", 10))
    assert refusal(lying) is FindingCode.PACKAGE_UNREADABLE


def test_a_method_whose_reader_has_no_bound_is_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_BZIP2) as archive:
        for name, data in FILES.items():
            archive.writestr(name, data)
    assert refusal(buffer.getvalue()) is FindingCode.PACKAGE_UNREADABLE
